"""Translation of evals of other tools into success criteria and works. No code of their files is run."""
