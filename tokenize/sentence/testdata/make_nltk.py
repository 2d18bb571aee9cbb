"""Writes nltk.jsonl: texts and the spans that NLTK's Punkt gives them.

    python3 make_nltk.py DATA > nltk.jsonl

DATA is the folder data of github.com/neurosnap/sentences v1.1.2. NLTK must be
3.8.1 (3.9.x and 3.10.0 write the same file). Each text is a random string of
what Punkt has rules for: abbreviations, collocations, starters, initials,
numbers, marks and white space of every kind, in each of the 17 languages.
"""

import json
import random
import sys
from collections import defaultdict

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

LANGUAGES = {
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "fi": "finnish", "fr": "french", "it": "italian", "nl": "dutch", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "sl": "slovene", "sv": "swedish", "tr": "turkish",
}
TEXTS = 60  # per language
GAPS = [" "] * 8 + ["\n", "\n\n", "\t", "\u00a0", "\u2028", "\u3000", "\x1c", "", "  ", "\r\n", "\x85"]
MARKS = [".", ".", ".", "?", "!", "...", ". . .", ".. ", ". . ", ",", ";", ":", "--", "-", '"', "'", ")", "(", ".)",
         '."', ".'", '?"', "!)", "[1]", ".[2]", "}", "*", "`", "\u201d", "\u00bb", "\u2026", "&", ".,", "?!", ".--"]
ODD = ["\u0130.", "\u2167.", "\u0663.", "\u0661\u0662", "\u0391\u03a3.", "\u03a3\u0391\u03a3", "\u0391\u03a3\u2019", "\u03a3.",
       "\u01c5.", "\u00aa.", "\u00df.", "_.", "a.", "B.", "A.B.", "x-etc.", "12.", "-3.5", ".5", "3,000.", "1-2.", "12.a",
       "\u24b6.", "\u02b0.", "\u4e2d.", "\u00e9.", "\u200b.", "\uff11\uff12.", "\x00", "\U0001d400.", "\U00010400.", "\u10a0."]
# What random strings hit too seldom, in English.
HAND = [
    "It was a well-known-etc. The rest.", "Two-part-prof. Smith and semi-mr. Fox.", "a.\u00a0.\n. X", ".\u00a0.\u00a0.\nX", " . A", " a. B", "\n.\nA",
    "x,\u00a0. y", "(One.) (Two!) [Three?] {Four.} Five", "He said \"Go.\"--and \"Stop.\"-- so", "'So.') \"Ha!\"\n\n\"Ho!\" )", "Ends in a closer.)", "Only.\"",
    "No. 7. No. seven. no. 7", "J. S. Bach. J. s. bach", "At 3.30 p.m. Mr. X left. At 4 p.m. he ran.", "U.S. U.S. The U.S. A", "etc...", "etc. . . And", "...", ". . . .", "!?!? X!! y",
    "1. One 2. Two. 3. Three", "\u00a71. A \u00a72. B.", "vs. The. vs. the.", "\u03a3.\u03a3. \u039f\u0394\u039f\u03a3. \u0391", "a.b.c. D.e.F. g", "x. -- y. --Z", "A.\u2028B. C", "--. A", "-.- A. b", "Acme Inc. However,) it is.", "Acme Inc. However,--it is.", "Acme Inc. However,. it", "Acme Inc. However, it",
    "It was -5. the rest", "It was .5. the rest", "It was ,5. the rest", "It was 5,. the rest", "It was 1,5-7. the rest",
]


def load(path, language):
    with open(f"{path}/{language}.json", encoding="utf-8") as f:
        data = json.load(f)
    params = PunktParameters()
    params.abbrev_types = set(data["AbbrevTypes"])
    params.sent_starters = set(data["SentStarters"])
    if language == "english":
        params.sent_starters.discard("she")
    params.collocations = {tuple(pair.split(",")) for pair in data["Collocations"]}
    params.ortho_context = defaultdict(int, data["OrthoContext"])
    return PunktSentenceTokenizer(params), {k: sorted(data[k]) for k in data}


def word(rnd, data):
    r = rnd.random()
    if r < 0.15:
        w = rnd.choice(data["AbbrevTypes"]) + "."
    elif r < 0.3:
        w = rnd.choice(rnd.choice(data["Collocations"]).split(",")).replace("##number##", "12")
        w += rnd.choice(["", "."])
    elif r < 0.42:
        w = rnd.choice(data["SentStarters"])
    elif r < 0.65:
        w = rnd.choice(data["OrthoContext"])
    elif r < 0.75:
        w = rnd.choice(ODD)
    elif r < 0.83:
        w = rnd.choice("ABCabc\u00c9\u00e9\u015e\u015f\u03a9\u03c9") + "."
    elif r < 0.88:
        w = str(rnd.randint(0, 99)) + rnd.choice(["", ".", "."])
    else:
        w = rnd.choice(MARKS)
    w = rnd.choice([str, str, str, str.capitalize, str.capitalize, str.upper])(w)
    return w + rnd.choice(MARKS) if rnd.random() < 0.3 else w


def main():
    rnd = random.Random(381)
    for code, language in LANGUAGES.items():
        tokenizer, data = load(sys.argv[1], language)
        texts = ["".join(word(rnd, data) + rnd.choice(GAPS) for _ in range(rnd.randint(1, 12))) for _ in range(TEXTS)]
        for text in texts + (HAND if code == "en" else []):
            at = [0]
            for c in text:
                at.append(at[-1] + len(c.encode()))
            spans = [[at[a], at[b]] for a, b in tokenizer.span_tokenize(text)]
            print(json.dumps({"lang": code, "text": text, "spans": spans}, ensure_ascii=False))


main()
