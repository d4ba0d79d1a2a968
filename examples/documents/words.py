"""Words and sentences of a text; what both the vectoriser and the summary count."""

import re

WORD = re.compile(r"[A-Za-z][A-Za-z]+")
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z\"'(])|\n\s*\n")
SENTENCE_WORDS = range(6, 60)  # shorter is a heading or a list item, longer is a table or a signature
PROSE = 0.93  # of a sentence's characters are letters, spaces or ordinary punctuation; less is code or a drawing
ORDINARY = frozenset(" .,:;'()-")

_STOP_WORDS = """
    a about above after again all also am an and any are as at be because been before being below between both but by can cannot
    could did do does doing down during each few for from further had has have having he her here hers him his how i if in into is
    it its itself just like may me might more most must my no nor not now of off on once one only or other our out over own same see
    she should so some such than that the their them then there these they this those through to too two under until up use used
    uses using very via was we were what when where whether which while who whom why will with within without would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words_of(text: str) -> list[str]:
    """Words of two letters or more, lower case, without stop words, plurals folded, in the order of the text."""
    return [_fold(word) for word in (match.group().lower() for match in WORD.finditer(text)) if word not in STOP_WORDS]


def sentences_of(text: str) -> list[str]:
    """Sentences that can stand in a summary, in the order of the text, white space folded, each text once."""
    sentences: dict[str, None] = {}
    for piece in SENTENCE_END.split(text):
        sentence = " ".join(piece.split())
        if len(sentence.split(" ")) in SENTENCE_WORDS and sentence[0].isalpha() and _is_prose(sentence):
            sentences.setdefault(sentence)
    return list(sentences)


def _is_prose(sentence: str) -> bool:
    return sum(character.isalpha() or character in ORDINARY for character in sentence) >= PROSE * len(sentence)


def _fold(word: str) -> str:
    """Plural to singular, the cheap way: enough that `decimals` meets `decimal`."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
