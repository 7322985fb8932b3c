"""Translation of evals of other tools into success criteria and works. Nothing of their files is run."""
