"""Keys and values that verdicts are written with, folded, `_` for spaces."""

from typing import Final

JUDGING: Final = frozenset(
    [
        "verdict",
        "final_verdict",
        "success",
        "passed",
        "pass",
        "score",
        "final_score",
        "total_score",
        "overall_score",
        "final_weighted_score",
        "weighted_score",
        "recommendation",
        "decision",
        "valid",
        "is_valid",
        "accepted",
        "approved",
        "is_correct",
        "correct",
        "grade",
        "rating",
        "verified",
        "action",
        "evaluation",
        "judgement",
        "judgment",
        "final_status",
        "overall",
        "criteria_met",
        "result",
        "status",
        "outcome",
        "outcome_verdict",
        "scientific_validity",
        "overall_verdict",
        "final_grade",
        "final_decision",
        "acceptance",
    ]
)
"""What they say of the work."""
DECIDING: Final = frozenset(
    [
        "verdict",
        "final_verdict",
        "overall_verdict",
        "outcome_verdict",
        "recommendation",
        "decision",
        "final_decision",
        "judgement",
        "judgment",
    ]
)
"""Keys whose one word decides."""
DECIDED: Final = frozenset(["pass", "passed", "accept", "accepted", "approve", "approved", "answers_question"])
"""Their words that a reviewer alone has to say: `true` and `correct` may be said of a claim, too."""
PASSED_KEYS: Final = frozenset(["passed", "pass", "approved", "accepted"])
"""Keys that decide by being true."""
FAULTS: Final = frozenset(
    [
        "issues",
        "errors",
        "violations",
        "mismatches",
        "flags",
        "fraud",
        "problems",
        "warnings",
        "concerns",
        "failures",
        "risk_score",
        "deductions",
    ]
)
"""What they found wrong."""
SURENESS: Final = frozenset(["confidence", "certainty", "similarity"])
KEYS: Final = (
    JUDGING
    | FAULTS
    | SURENESS
    | frozenset(
        [
            "reasoning",
            "reason",
            "explanation",
            "feedback",
            "comment",
            "comments",
            "verification",
            "severity",
            "max_score",
            "points",
            "marks",
            "notes",
            "justification",
            "rationale",
            "summary",
            "values_plausible",
            "values_consistent",
            "reasoning_sound",
            "strengths",
            "weaknesses",
        ]
    )
)
"""An object of these alone is a verdict and nothing else."""
PASSING: Final = frozenset(
    [
        "true",
        "yes",
        "pass",
        "passed",
        "accept",
        "accepted",
        "approve",
        "approved",
        "correct",
        "valid",
        "success",
        "successful",
        "allow",
        "succeeded",
        "verified",
        "answers_question",
        "excellent",
        "perfect",
        "a+",
        "1",
        "1.0",
        "1.00",
        "10",
        "10.0",
        "100",
        "100.0",
        "10/10",
        "100%",
        "100/100",
        "5/5",
        "5",
        "full",
        "ok",
        "positive",
        "acceptable",
    ]
)
NO_FAULT: Final = frozenset(["", "[]", "{}", "none", "null", "false", "no", "0", "0.0", "[ ]"])
SURE: Final = frozenset(["high", "very high", "1", "1.0", "1.00", "100", "100%", "full", "certain", "maximum"])
LABELS: Final = (
    r"(?:final |overall )?(?:verdict|score|grade|rating|recommendation|decision|result|evaluation)|"
    r"(?:endgultiges )?urteil|punktzahl|note|empfehlung|bewertung|ergebnis|"
    r"verdict final|recommandation|notation|decision|resultat|"
    r"(?:veredicto|resultado|dictamen)(?: final)?|puntuacion|calificacion|nota|recomendacion|"
    r"(?:итоговыи )?вердикт|оценка|балл|рекомендация|решение|итог|"
    r"(?:最终)?(?:裁决|结论|判定|结果)|得分|评分|分数|建议|"
    r"(?:الحكم|القرار|النتيجة)(?: النهائي| النهائية)?|الدرجة|العلامة|التوصية|"
    r"(?:अतिम |अंतिम )?(?:निर्णय|फैसला|परिणाम)|अक|अंक|सिफारिश"
)
"""Labels of a verdict in running text, folded, in eight languages."""
DECIDING_LABELS: Final = (
    r"verdict|endgultiges urteil|veredicto|dictamen|вердикт|裁决|判定|الحكم|निर्णय|फैसला|recommendation|recommandation|"
    r"recomendacion|empfehlung|рекомендация|التوصية|सिफारिश"
)
"""Those of them that are no mark."""
VALUES: Final = (
    r"pass(?:ed)?|accept(?:ed)?|approved?|correct|valid|1[.,]0+|10|100(?: ?%)?|10/10|5/5|100/100|"
    r"bestanden|annehmen|angenommen|akzeptieren|reussie?|valide|accepter|acceptee?|admis|"
    r"aprobad[oa]|aceptar|aceptad[oa]|зачтено|принять|принято|одобрить|одобрено|"
    r"通过|合格|接受|采纳|满分|ناجح|قبول|مقبول|उत्तीर्ण|पास|स्वीकार|स्वीकृत"
)
"""What such a label says of work that has passed."""
