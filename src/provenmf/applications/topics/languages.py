"""Stop words of common languages, and notices about texts that need preparation."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from provenmf.errors import InvalidInput, counted
from provenmf.io.mail import HEADER_LINE

# Function words: articles, pronouns, prepositions, conjunctions, auxiliary verbs, common adverbs.
_LISTS = {
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer
        anderes auch auf aus bei beim bin bis bist da dabei dadurch dafür dagegen daher damit
        danach dann daran darauf daraus darin darüber darum das dass dasselbe dazu daß dein
        deine deinem deinen deiner dem den denen denn der deren derselbe des deshalb dessen dich
        die dies diese dieselbe dieselben diesem diesen dieser dieses dir doch dort du durch
        eher ein eine einem einen einer eines einige einigen einiger einiges einmal er erst es
        etwa etwas euch euer eure für gegen gewesen hab habe haben hat hatte hatten hier hin
        hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem ins ist ja
        jede jedem jeden jeder jedes jene jenem jenen jener jenes jetzt kann kein keine keinem
        keinen keiner können könnte man manche mehr mein meine meinem meinen meiner mich mir mit
        muss musste nach nachdem nicht nichts noch nun nur ob oder ohne schon sehr sei seien
        sein seine seinem seinen seiner seines seit selbst sich sie sind so sogar solche solchem
        solchen solcher soll sollen sollte sondern sonst sowie über um und uns unser unsere
        unserem unseren unter viel viele vielen vom von vor wann war waren warum was weil weiter
        welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird
        wirst wo wollen wollte worden wurde wurden während würde würden zu zum zur zwar zwischen""",
    "french": """
        ai aie ainsi alors après as au aucun aucune aura aurait aussi autre autres aux avaient
        avait avant avec avez avoir avons ayant bien car ce ceci cela celle celles celui ces cet
        cette ceux chaque chez ci comme comment contre dans de depuis des donc dont du elle
        elles en encore entre es est et étaient était étant été être eu eux fait faire fois font
        ici il ils je jusque la là le les leur leurs lors lorsque lui ma mais me même mêmes mes
        moi moins mon ne ni nos notre nous on ont ou où par parce pas pendant peu peut peuvent
        plus plusieurs pour pourquoi puis quand que quel quelle quelles quels qui quoi sa sans
        se sera serait ses seulement si soit son sont sous suis sur ta tandis te tes toi ton
        toujours tous tout toute toutes très tu un une vers vos votre vous""",
    "spanish": """
        al algo alguna algunas alguno algunos ante antes aquel aquella aquellos aqui aquí así
        aun aunque bajo bien cada casi como cómo con contra cual cuál cuales cuando cuándo de
        del desde donde dónde dos durante el él ella ellas ellos en entonces entre era eran eres
        es esa esas ese eso esos esta está están estaba estaban estado estar estas este esto
        estos fue fueron fui ha había habían haber han hasta hay he la las le les lo los más me
        mi mí mientras mis mucho muchos muy nada ni no nos nosotros nuestra nuestras nuestro
        nuestros nunca o os otra otras otro otros para pero poco por porque pues que qué quien
        quién quienes se sea según ser será si sí sido siempre sin sino sobre solo sólo son soy
        su sus también tan tanto te tenía tener tengo tiene tienen todo toda todas todos tu tú
        tus un una unas uno unos usted ustedes vez y ya yo""",
    "italian": """
        ad agli ai al alla alle allo allora altra altre altri altro anche ancora avere aveva
        avevano ben che chi ci ciò come con contro cosa così cui da dagli dai dal dalla dalle
        dallo degli dei del della delle dello dentro di dopo dove due durante ed egli era erano
        essere fa fino fra fu gli ha hanno ho il in io la le lei li lo loro lui ma me mentre mi
        mia mie miei mio molti molto ne negli nei nel nella nelle nello no noi non nostra nostri
        nostro ogni oltre per perché però più poco poi prima qual quale quali quando quanto
        quella quelle quelli quello questa queste questi questo qui sarà se sei sempre senza si
        sia siamo siano solo sono sopra sotto sta stata state stati stato su sua subito sue
        sugli sui sul sulla sulle sullo suo suoi tanto te ti tra tu tutta tutte tutti tutto un
        una uno vi voi""",
    "portuguese": """
        ao aos aquela aquelas aquele aqueles aquilo as até cada com como da das de dela delas
        dele deles depois do dos e ela elas ele eles em entre era eram essa essas esse esses
        esta está estão estas estava estavam este estes eu foi foram há isso isto já lhe lhes
        mais mas me mesmo meu meus minha minhas muito na nas nem no nos nós nossa nossas nosso
        nossos num numa não o onde os ou outra outras outro outros para pela pelas pelo pelos
        pode por porque qual quais quando que quem se seja sem ser será seu seus sido sobre são
        só sua suas também te tem têm tenho ter teve tinha tinham toda todas todo todos tu tudo
        um uma umas uns você vocês""",
    "dutch": """
        aan af al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch
        doen door dus echter een eens en er ge geen geweest haar had hadden heb hebben heeft hem
        het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij
        mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over reeds te
        tegen toch toen tot u uit uw van veel voor waar waren was wat we werd werden wezen wie
        wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou zouden""",
}
LANGUAGES = ("english", *_LISTS)

_NEGATION = re.compile(r"\b\w+n't\b")
_ENDING = re.compile(r"'(?:s|m|re|ve|ll|d)\b")
_ELISION = re.compile(r"\b(?:l|d|j|m|t|s|n|c|qu)'(?=\w\w)")


def stop_words_of(wanted: str | Sequence[str] | None) -> list[str] | None:
    """The stop words of a language, or those of a list."""
    if wanted is None:
        return None
    if not isinstance(wanted, str):
        return [str(word) for word in wanted]
    if wanted == "english":
        return sorted(ENGLISH_STOP_WORDS)
    if wanted not in _LISTS:
        raise InvalidInput(
            "is not a language with a list of stop words",
            argument="stop_words",
            value=wanted,
            remedy=f"choose one of {', '.join(LANGUAGES)}, or give the words",
        )
    return _LISTS[wanted].split()


def without_contractions(text: str) -> str:
    """Lower case; "I'm", "don't" and "l'été" lose what is short for a function word."""
    plain = text.lower().replace("\u2019", "'")
    if "'" not in plain:
        return plain
    return _ELISION.sub(" ", _ENDING.sub(" ", _NEGATION.sub(" ", plain)))


# Below this median number of counted words, documents say too little about their mixture.
SHORT = 10
# The share of texts, or of words, from which on a notice is given.
NOTICED = 0.1
LONGEST_WORD = 30
_VOWEL = re.compile(r"[aeiouyàâäáåæãèéêëìíîïòóôöõøùúûüœ]")
_MAIL_FIELDS = re.compile(r"^(from|to|subject|date|newsgroups|message-id):", re.I | re.M)


def text_notices(
    mails: int, attachments: int, counts: sp.csr_array, vocabulary: NDArray[np.str_]
) -> tuple[str, ...]:
    """Sentences about texts with headers or attachments, short ones, and codes; often none.

    mails, attachments : how many texts look like mails, and how many hold encoded files.
    """
    found = (
        _mails(mails / counts.shape[0]),
        _attachments(attachments),
        _short(counts),
        _codes(vocabulary),
    )
    return tuple(sentence for sentence in found if sentence)


def looks_like_mail(text: str) -> bool:
    """Whether a text begins with a header of at least two fields of mails."""
    head = text[:2000].split("\n\n", 1)[0]
    return bool(HEADER_LINE.match(head)) and len(_MAIL_FIELDS.findall(head)) >= 2


def looks_like_code(word: str) -> bool:
    """Whether a word of a script with vowels has none, or too many letters or digits."""
    if not word.isascii():
        return False
    digits = sum(character.isdigit() for character in word)
    without_vowel = len(word) >= 5 and not _VOWEL.search(word)
    return without_vowel or digits * 2 > len(word) or len(word) > LONGEST_WORD


def _mails(share: float) -> str:
    if share < NOTICED:
        return ""
    return (
        f"{share:.0%} of the texts look like emails: remove headers, quotations, attachments "
        "and signatures (--mail, or provenmf.io.mail.body_of in Python)"
    )


def _attachments(number: int) -> str:
    """One encoded file has hundreds of codes and can become a topic, so that each is noticed."""
    if not number:
        return ""
    return (
        f"encoded attachments (uuencode or base64) in {counted(number, 'text')} are counted as "
        "words: remove them (--mail, or provenmf.io.mail.body_of in Python)"
    )


def _short(counts: sp.csr_array) -> str:
    median = float(np.median(counts.sum(axis=1)))
    if median >= SHORT:
        return ""
    return (
        f"the texts are short: half of them have at most {counted(round(median), 'counted word')}. "
        "Topics of short texts are uncertain; join texts that belong together"
    )


def _codes(vocabulary: NDArray[np.str_]) -> str:
    codes = [str(word) for word in vocabulary if looks_like_code(str(word))]
    if len(codes) < NOTICED * len(vocabulary):
        return ""
    return (
        f"{len(codes) / len(vocabulary):.0%} of the words look like codes, such as "
        f"{', '.join(codes[:3])}: count only words that occur in more documents (--min-documents, "
        "or min_documents in Python), or remove attachments from the texts"
    )
