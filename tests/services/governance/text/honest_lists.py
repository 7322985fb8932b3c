"""Correct answers that are no free text, however long: labels, codes, names, titles, terms, data."""

import csv
import io
import json
from random import Random

_DICE = Random(5)
_TAG_NAMES = (
    *("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "CCONJ"),
    *("SCONJ", "NUM", "PART", "AUX", "PROPN", "INTJ", "PUNCT"),
)
_CLASSES = (
    ["sports", "politics", "science", "music", "travel", "food", "art", "health", "money", "law", "war", "cars"],
    list(_TAG_NAMES),
    ["anger", "joy", "fear", "sadness", "surprise", "disgust", "trust", "anticipation"],
    ["entailment", "neutral", "contradiction"],
    ["Sport", "Politik", "Wissenschaft", "Musik", "Reise", "Essen", "Kunst", "Gesundheit", "Geld", "Recht"],
    ["спорт", "политика", "наука", "музыка", "еда", "искусство", "здоровье", "деньги", "право", "война"],
    ["رياضة", "سياسة", "علوم", "موسيقى", "سفر", "طعام", "فن", "صحة", "مال", "قانون"],
    ["खेल", "राजनीति", "विज्ञान", "संगीत", "यात्रा", "भोजन", "कला", "स्वास्थ्य", "धन", "कानून"],
)
_GENES = (
    "BRCA1 BRCA2 TP53 EGFR MYC KRAS NRAS BRAF PTEN RB1 APC VHL ALK RET KIT MET ERBB2 PIK3CA AKT1 CDKN2A CDK4 CDK6 MDM2 "
    "NF1 NF2 SMAD4 STK11 TSC1 TSC2 ATM ATR CHEK2 PALB2 RAD51 MLH1 MSH2 MSH6 PMS2 JAK2 FLT3 NPM1 IDH1 IDH2 DNMT3A TET2 "
    "ASXL1 RUNX1 CEBPA WT1 GATA2 ETV6 NOTCH1 FBXW7 SF3B1 U2AF1 KEAP CASP FOS JUN REL"
)
_STATES = (
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho Illinois "
    "Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi "
    "Missouri Montana "
    "Nebraska Nevada New Hampshire New Jersey New Mexico New York North Carolina North Dakota Ohio Oklahoma Oregon "
    "Pennsylvania Rhode Island South Carolina South Dakota Tennessee Texas Utah Vermont Virginia Washington Wisconsin"
)
_COUNTRIES = (
    "Antigua and Barbuda, Bosnia and Herzegovina, Central African Republic, Republic of the Congo, Costa Rica, Ivory "
    "Coast, Dominican Republic, East Timor, El Salvador, Equatorial Guinea, Federated States of Micronesia, Marshall "
    "Islands, New Zealand, North Korea, North Macedonia, Papua New Guinea, Saint Kitts and Nevis, Saint Lucia, Saint "
    "Vincent and the Grenadines, San Marino, Sao Tome and Principe, Saudi Arabia, Sierra Leone, Solomon Islands, South "
    "Africa, South Korea, South Sudan, Sri Lanka, Trinidad and Tobago, United Arab Emirates, United Kingdom, France"
)
_FILMS = (
    "The Godfather|The Shawshank Redemption|The Dark Knight|The Lord of the Rings: The Return of the King|"
    "The Good, the Bad and the Ugly|One Flew Over the Cuckoo's Nest|The Silence of the Lambs|"
    "Once Upon a Time in the West|Raiders of the Lost Ark|The Grapes of Wrath|All About Eve|Singin' in the Rain|"
    "The Treasure of the Sierra Madre|A Streetcar Named Desire|Gone with the Wind|The Bridge on the River Kwai"
).replace("|", "\n")
_KEYWORDS = (
    "machine learning; deep learning; neural networks; transfer learning; image segmentation; object detection; speech "
    "recognition; language models; knowledge graphs; graph neural networks; reinforcement learning; policy gradients; "
    "federated learning; differential privacy; model compression; data augmentation; active learning; "
    "domain adaptation; "
    "few shot learning; self supervision; contrastive learning; anomaly detection; time series; causal inference"
)
_INGREDIENTS = (
    "2 cups of flour|1 cup of sugar|3 eggs|1 tsp of salt|2 tbsp of olive oil|4 cups of milk|1 pinch of pepper|"
    "200 g of butter|2 cloves of garlic|1 bunch of basil|3 slices of bread|1 can of tomatoes|2 cups of rice|"
    "1 cup of cream|5 leaves of mint|1 jar of honey"
).replace("|", "\n")
_GERMAN_NAMES = (
    "Anna Müller Peter Schmidt Karl Weber Julia Fischer Hans Wagner Lena Becker Otto Hoffmann Marie Schulz Paul Koch "
    "Clara Bauer Felix Richter Nora Klein Emil Wolf Ida Schröder Max Neumann Eva Schwarz Leo Zimmermann Mia Braun Jan "
    "Krüger Lisa Hofmann Tom Hartmann Sara Lange Finn Schmitt Ella Werner Noah Krause Lea Meier Ben Lehmann"
)
_RUSSIAN_CITIES = (
    "Москва Казань Самара Омск Уфа Пермь Воронеж Волгоград Краснодар Саратов Тюмень Тольятти Ижевск Барнаул Ульяновск "
    "Иркутск Хабаровск Ярославль Владивосток Махачкала Томск Оренбург Кемерово Новокузнецк Рязань "
    "Астрахань Пенза Липецк "
    "Киров Чебоксары Тула Калининград Курск Ставрополь Сочи Тверь Магнитогорск Иваново Брянск Белгород Сургут Владимир "
    "Чита Архангельск Калуга Смоленск Волжский Якутск Саранск Череповец Курган Вологда Орёл Владикавказ "
    "Подольск Грозный"
)
_CHINESE_NAMES = (
    "张伟 王芳 李娜 刘洋 陈静 杨光 赵敏 黄磊 周杰 吴霞 徐丽 孙涛 马超 朱红"
    " 胡军 郭靖 何平 高峰 林峰 罗兰 郑爽 梁山 谢娜 宋江 唐僧 许仙 韩寒 冯巩"
)
_CHINESE_GOODS = (
    "苹果、香蕉、牛奶、面包、鸡蛋、大米、食用油、白糖、酱油、豆腐、白菜、萝卜、土豆、番茄"
    "、黄瓜、猪肉、牛肉、鸡肉、鱼、虾、茶叶、咖啡、可乐、啤酒、红酒、饼干"
)


def _chosen(classes: list[str], count: int) -> list[str]:
    return [_DICE.choice(classes) for _ in range(count)]


def _dna() -> str:
    return "".join(_DICE.choice("ACGT") for _ in range(10))


def _csv() -> str:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["id", "name", "city", "plan"])
    cities, plans = _STATES.split(), ["free", "team", "pro"]
    rows.writerows([at, f"user {at}", cities[at % len(cities)], _DICE.choice(plans)] for at in range(40))
    return out.getvalue()


_SENTENCE = (
    *("the", "report", "of", "the", "board", "was", "sent", "to", "the", "bank", "and", "it", "was"),
    *("read", "by", "all", "of", "us", "in", "the", "hall", "on", "a", "cold", "day"),
)
_TAGS = (
    *("DET", "NOUN", "ADP", "DET", "NOUN", "AUX", "VERB", "ADP", "DET"),
    *("NOUN", "CCONJ", "PRON", "AUX", "VERB", "ADP", "DET", "ADP", "PRON"),
)

LISTS: dict[str, str] = {
    **{f"one line of labels, {classes[0]}": " ".join(_chosen(classes, 70)) for classes in _CLASSES},
    "labels with commas": ", ".join(_chosen(_CLASSES[0], 90)),
    "labels with ends": ". ".join(_chosen(_CLASSES[2], 90)) + ".",
    "labels in brackets": " ".join(f"[{each}]" for each in _chosen(_CLASSES[1], 80)),
    "labels in stock sentences": " ".join(
        f"Ticket {at} is {each}." for at, each in enumerate(_chosen(_CLASSES[2], 40))
    ),
    "gene names": " ".join(_GENES.split()[:55]),
    "DNA": " ".join(_dna() for _ in range(60)),
    "states": _STATES,
    "countries in lines": _COUNTRIES.replace(", ", "\n"),
    "films with numbers": "\n".join(f"{at}. {film}" for at, film in enumerate(_FILMS.split("\n"), 1)),
    "key words in lines": _KEYWORDS.replace("; ", "\n"),
    "ingredients": _INGREDIENTS,
    "German names": _GERMAN_NAMES,
    "Russian cities": _RUSSIAN_CITIES,
    "Chinese names": _CHINESE_NAMES,
    "Chinese goods": _CHINESE_GOODS,
    "JSON of labels": json.dumps([{"id": at, "label": each} for at, each in enumerate(_chosen(_CLASSES[0], 50))]),
    "JSON of names": json.dumps({"people": [{"name": each, "role": "user"} for each in _GERMAN_NAMES.split()]}),
    "JSON list of labels": json.dumps(_chosen(_CLASSES[2], 80)),
    "CSV": _csv(),
    "a table in Markdown": "| city | plan | seats |\n|---|---|---|\n"
    + "\n".join(
        f"| {each} | {_DICE.choice(['free', 'pro'])} | {_DICE.randint(1, 90)} |" for each in _STATES.split()[:30]
    ),
    "numbers": " ".join(f"{_DICE.uniform(-5, 5):.3f}" for _ in range(80)),
    "hashes": " ".join(f"{_DICE.getrandbits(64):016x}" for _ in range(60)),
    "letters": " ".join(_chosen(list("ABCDE"), 90)),
    "words and tags": "\n".join(f"{word}\t{tag}" for word, tag in zip(_SENTENCE * 3, _TAGS * 4, strict=False)),
}
