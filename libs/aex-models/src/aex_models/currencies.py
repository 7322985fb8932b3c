"""The currencies that money may be agreed in: ISO 4217, active codes (list one, 2026), less XXX, "no currency"."""

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from aex_models.money import Currency

_CODES = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD "
    "CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL "
    "GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW "
    "KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD "
    "NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP "
    "SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS "
    "VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA YER ZAR "
    "ZMW ZWG "
)
ISO_4217 = frozenset(_CODES.split())


def _known(code: str) -> str:
    if code not in ISO_4217:
        raise PydanticCustomError("unknown_currency", "{code} is no ISO 4217 currency", {"code": code})
    return code


AgreedCurrency = Annotated[Currency, AfterValidator(_known)]
"""A code of ISO 4217: for what comes from outside. What is stored was checked when it came."""
