"""Correct answers that are no free text, however long: labels, codes, names, titles, terms, data."""

import csv
import io
import json
from random import Random

_DICE = Random(5)
_CLASSES = (
    ["sports", "politics", "science", "music", "travel", "food", "art", "health", "money", "law", "war", "cars"],
    ["anger", "joy", "fear", "sadness", "surprise", "disgust", "trust", "anticipation"],
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
_FILMS = (
    "The Godfather|The Shawshank Redemption|The Dark Knight|The Lord of the Rings: The Return of the King|"
    "The Good, the Bad and the Ugly|One Flew Over the Cuckoo's Nest|The Silence of the Lambs|"
    "Once Upon a Time in the West|Raiders of the Lost Ark|The Grapes of Wrath|All About Eve|Singin' in the Rain|"
    "The Treasure of the Sierra Madre|A Streetcar Named Desire|Gone with the Wind|The Bridge on the River Kwai"
).replace("|", "\n")
_RUSSIAN_CITIES = (
    "Москва Казань Самара Омск Уфа Пермь Воронеж Волгоград Краснодар Саратов Тюмень Тольятти Ижевск Барнаул Ульяновск "
    "Иркутск Хабаровск Ярославль Владивосток Махачкала Томск Оренбург Кемерово Новокузнецк Рязань "
    "Астрахань Пенза Липецк "
    "Киров Чебоксары Тула Калининград Курск Ставрополь Сочи Тверь Магнитогорск Иваново Брянск Белгород Сургут Владимир "
    "Чита Архангельск Калуга Смоленск Волжский Якутск Саранск Череповец Курган Вологда Орёл Владикавказ "
    "Подольск Грозный"
)
_CHINESE_GOODS = (
    "苹果、香蕉、牛奶、面包、鸡蛋、大米、食用油、白糖、酱油、豆腐、白菜、萝卜、土豆、番茄"
    "、黄瓜、猪肉、牛肉、鸡肉、鱼、虾、茶叶、咖啡、可乐、啤酒、红酒、饼干"
)


def _chosen(classes: list[str], count: int) -> list[str]:
    return [_DICE.choice(classes) for _ in range(count)]


def _csv() -> str:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["id", "name", "city", "plan"])
    cities, plans = _STATES.split(), ["free", "team", "pro"]
    rows.writerows([at, f"user {at}", cities[at % len(cities)], _DICE.choice(plans)] for at in range(40))
    return out.getvalue()


LISTS: dict[str, str] = {
    **{f"one line of labels, {classes[0]}": " ".join(_chosen(classes, 70)) for classes in _CLASSES},
    "labels with commas": ", ".join(_chosen(_CLASSES[0], 90)),
    "labels with ends": ". ".join(_chosen(_CLASSES[1], 90)) + ".",
    "labels in stock sentences": " ".join(
        f"Ticket {at} is {each}." for at, each in enumerate(_chosen(_CLASSES[1], 40))
    ),
    "gene names": " ".join(_GENES.split()[:55]),
    "states": _STATES,
    "films with numbers": "\n".join(f"{at}. {film}" for at, film in enumerate(_FILMS.split("\n"), 1)),
    "Russian cities": _RUSSIAN_CITIES,
    "Chinese goods": _CHINESE_GOODS,
    "JSON of labels": json.dumps([{"id": at, "label": each} for at, each in enumerate(_chosen(_CLASSES[0], 50))]),
    "CSV": _csv(),
    "a table in Markdown": "| city | plan | seats |\n|---|---|---|\n"
    + "\n".join(
        f"| {each} | {_DICE.choice(['free', 'pro'])} | {_DICE.randint(1, 90)} |" for each in _STATES.split()[:30]
    ),
    "numbers": " ".join(f"{_DICE.uniform(-5, 5):.3f}" for _ in range(80)),
    "letters": " ".join(_chosen(list("ABCDE"), 90)),
}
