"""Writes tables.txt: the Unicode properties that Hugging Face's tokenizers use.

    pip install tokenizers==0.23.3 regex==2026.11.15
    python3 probe.py > tables.txt

The library mixes the Unicode versions of several crates, so every property is read
from the answers of the library itself. A line is

    set NAME RANGE...       code points, as FIRST or FIRST-LAST in hexadecimal
    map NAME CODE=CODE,... ...

Two properties cannot be read from answers and come from elsewhere; differences to the
library are found by internal/dev/interop/check_encoding.py: grapheme clusters (module
regex) and the values of canonical combining classes (unicodedata; whether the library
has one for a character is read from its answers).
"""

import sys
import unicodedata

import regex
from tokenizers import Regex, normalizers, pre_tokenizers

ALL = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(ALL)

CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cn Co").split()
BINARY = ("Alphabetic White_Space Uppercase Lowercase Ideographic Emoji Extended_Pictographic Hex_Digit ID_Start ID_Continue "
          "Unified_Ideograph Dash Diacritic Math Default_Ignorable_Code_Point Emoji_Presentation Emoji_Modifier Variation_Selector "
          "Regional_Indicator Join_Control Graph Print Punct").split()
SCRIPTS = ("""Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki
Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan
Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo
Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada
Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu
Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue
Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian
Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa
Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian
Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut
Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square""").split()
CLUSTERS = "CR LF Control Extend ZWJ Prepend SpacingMark L V T LV LVT Regional_Indicator".split()


def put_set(name, chars):
    ranges, first, last = [], None, None
    for c in sorted(map(ord, chars)):
        if last is not None and c == last + 1:
            last = c
            continue
        if first is not None:
            ranges.append((first, last))
        first = last = c
    if first is not None:
        ranges.append((first, last))
    print("set", name, *("%x" % a if a == b else "%x-%x" % (a, b) for a, b in ranges))


def put_map(name, pairs):
    print("map", name, *("%x=%s" % (ord(k), ",".join("%x" % ord(c) for c in v)) for k, v in sorted(pairs.items())))


def kept(normalizer):
    """The characters of TEXT that a normalizer which only removes leaves."""
    return set(normalizer.normalize_str(TEXT))


def matching(pattern):
    """The characters that Oniguruma's pattern, of one character, matches."""
    return set(TEXT) - kept(normalizers.Replace(Regex(pattern), ""))


def each(normalizer):
    """What becomes of every character alone."""
    out = []
    for at in range(0, len(ALL), 4096):
        part = [c for c in ALL[at:at + 4096] if c != "\n"]
        # A letter with no decomposition on both sides keeps characters apart.
        got = normalizer.normalize_str("".join("\u01c2" + c + "\n" for c in part)).split("\n")
        out += zip(part, (g[1:] for g in got))
    return out


def gaps(pretokenizer):
    """The characters that a pre-tokenizer removes."""
    out, end = set(), 0
    for _, (first, last) in pretokenizer.pre_tokenize_str(TEXT):
        out |= set(TEXT[end:first])
        end = last
    return out | set(TEXT[end:])


def properties():
    for name in CATEGORIES:
        put_set("gc:" + name, matching(r"\p{%s}" % name))
    for name in BINARY:
        put_set("prop:" + name, matching(r"\p{%s}" % name))
    for name in SCRIPTS:
        put_set("script:" + name, matching(r"\p{%s}" % name))
    put_set("onig:w", matching(r"\w"))
    put_set("onig:s", matching(r"\s"))
    put_set("onig:d", matching(r"\d"))
    # The characters of one line match each other under (?i).
    folds = {}
    for c in ALL:
        for other in (c.lower(), c.upper(), c.casefold(), c.title()):
            if len(other) == 1 and other != c:
                folds.setdefault(c.casefold() if len(c.casefold()) == 1 else other, set()).update((c, other))
    pairs = {}
    for group in folds.values():
        for c in group:
            regexp = Regex("(?i:%s)" % c) if c.isalpha() else Regex("(?i:\\x{%x})" % ord(c))
            same = set(group) - set(normalizers.Replace(regexp, "").normalize_str("".join(group)))
            pairs[c] = pairs.get(c, set()) | (same - {c})
    put_map("fold", {c: "".join(sorted(others)) for c, others in pairs.items() if others})


def rust():
    put_set("rust:space", gaps(pre_tokenizers.WhitespaceSplit()))
    put_set("rust:punctuation", gaps(pre_tokenizers.Punctuation("removed")))
    spaced = "".join("a" + c for c in ALL)
    put_set("rust:numeric", {p for p, _ in pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(spaced) if len(p) == 1 and p != "a"})
    words, at = pre_tokenizers.Whitespace().pre_tokenize_str("".join("a" + c + " " for c in ALL)), set()
    put_set("rust:word", {p[1] for p, _ in words if len(p) == 2 and p[0] == "a"})
    clean = kept(normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False))
    put_set("rust:other", {c for c in ALL if c not in clean and not c.isspace()} | {c for c in ALL if c not in clean and unicodedata.category(c) in ("Cc", "Cf")} - set("\t\n\r"))
    put_set("rust:combining", set(TEXT) - kept(normalizers.StripAccents()))
    put_map("rust:lower", {c: g for c, g in each(normalizers.Lowercase()) if g != c})


def normal_forms():
    nfd = dict(each(normalizers.NFD()))
    nfkd = dict(each(normalizers.NFKD()))
    hangul = {chr(c) for c in range(0xAC00, 0xD7A4)}
    put_map("nfd", {c: g for c, g in nfd.items() if g != c and c not in hangul})
    put_map("nfkd", {c: g for c, g in nfkd.items() if g != nfd[c] and c not in hangul})
    strip = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    put_set("rust:nonspacing", {c for c, g in each(strip) if g == ""})
    order = normalizers.NFD().normalize_str
    classes = {}
    for c in ALL:
        value = unicodedata.combining(c)
        if not value:
            continue
        swapped = order("\u0345" + c) == c + "\u0345" if value < 240 else order(c + "\u0334") == "\u0334" + c
        if swapped:
            classes.setdefault(value, []).append(c)
    for value in sorted(classes):
        put_set("ccc:%d" % value, classes[value])
    nfc = normalizers.NFC().normalize_str
    compose = {}
    for c, g in nfd.items():
        if c in hangul or len(g) < 2 or nfc(c) != c:
            continue
        first = nfc(g[:-1])
        if len(first) != 1 or nfc(first + g[-1]) != c:
            raise SystemExit("no pair composes to %x" % ord(c))
        compose[c] = first + g[-1]
    put_map("compose", compose)


def scripts_of_pretokenizer():
    """Runs of code points that UnicodeScripts takes for one script, by a number."""
    cut = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    groups = []  # [representative, characters]; the first holds what joins to anything
    anything = set()
    for name, script in (("a", "\u0430"), ):
        latin, cyrillic = name, script
    for c in ALL:
        if len(cut(latin + c)) == 1 and len(cut(cyrillic + c)) == 1:
            anything.add(c)
    put_set("scripts:any", anything)
    last = None
    for c in ALL:
        if c in anything:
            continue
        candidates = ([last] if last else []) + groups
        for g in candidates:
            if len(cut(g[0] + c)) == 1:
                g[1].add(c)
                last = g
                break
        else:
            last = [c, {c}]
            groups.append(last)
    for n, (_, chars) in enumerate(groups):
        put_set("scripts:%d" % n, chars)


def clusters():
    for name in CLUSTERS:
        put_set("gcb:" + name, {c for c in ALL if regex.match(r"\p{GCB=%s}" % name, c)})
    put_set("gcb:Pictographic", {c for c in ALL if regex.match(r"\p{Extended_Pictographic}", c)})


sys.setrecursionlimit(10000)
properties()
rust()
normal_forms()
scripts_of_pretokenizer()
clusters()
