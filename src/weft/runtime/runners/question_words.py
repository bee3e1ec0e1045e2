"""What a question asks for by its words, in the languages that people write notes in.

Words are compared as the search compares them: without case and accents, and in scripts without spaces by
their characters. A question in another language is a question all the same: it is searched for.
"""

from enum import Enum
from functools import cache

from weft.tree.word_splits import split_words

_BETWEEN = " · "


class Wish(Enum):
    """What the words of a question can ask for; words of all languages, phrases parted by commas."""

    TIME = """
        what time, what day, what date, o'clock, today, tonight, yesterday, tomorrow, this week, this month, this year,
        last week, last month, last year, next week, next month,
        wie spät, wie viel uhr, uhrzeit, welcher tag, welches datum, heute, gestern, vorgestern, morgen früh, übermorgen,
        diese woche, diesen monat, dieses jahr, letzte woche, letzten monat, letztes jahr, nächste woche,
        quelle heure, quel jour, quelle date, aujourd'hui, ce soir, hier, demain, cette semaine, ce mois, cette année,
        la semaine dernière, le mois dernier, l'année dernière, la semaine prochaine,
        qué hora, qué día, qué fecha, hoy, esta noche, ayer, esta semana, este mes, este año, la semana pasada,
        el mes pasado, el año pasado, la próxima semana,
        che ora, che giorno, oggi, ieri, domani, questa settimana, questo mese, la settimana scorsa, il mese scorso,
        que horas, que dia, hoje, ontem, amanhã, esta semana, este mês, semana passada, mês passado,
        hoe laat, welke dag, vandaag, gisteren, vorige week, deze week, vorige maand,
        который час, сколько времени, какое число, сегодня, вчера, завтра, на этой неделе, в этом месяце,
        на прошлой неделе, в прошлом месяце, в прошлом году,
        何時, 何日, 何曜日, 今日, きょう, 昨日, きのう, 明日, あした, 今週, 今月, 今年, 先週, 先月, 去年, 来週,
        几点, 几号, 星期几, 现在时间, 今天, 今晚, 昨天, 明天, 这周, 本周, 这个月, 本月, 今年, 上周, 上个月, 去年,
        몇 시, 며칠, 무슨 요일, 오늘, 어제, 내일, 이번 주, 지난주, 지난달, 작년
        """
    LISTING = """
        which, what, list, show, how many, welche, liste, zeig, zeige, wie viele, was für,
        quels, quelles, liste, montre, combien, qué, cuáles, lista, muestra, cuántas, cuántos,
        quali, elenca, mostra, quais, liste, mostre, welke, toon, какие, покажи, список, сколько,
        どんな, どの, 一覧, 見せて, いくつ, 哪些, 什么, 列出, 显示, 多少, 어떤, 목록, 보여
        """
    FILES = """
        notes, files, folders, file tree, folder structure, notizen, dateien, ordner, ordnerstruktur,
        notes, fichiers, dossiers, arborescence, notas, archivos, ficheros, carpetas, note, file, cartelle,
        notas, arquivos, pastas, notities, bestanden, mappen, заметки, заметок, файлы, файлов, папки, папок,
        ノート, メモ, ファイル, フォルダ, フォルダー, 笔记, 文件, 文件夹, 目录, 노트, 메모, 파일, 폴더
        """
    TREE = """
        file tree, folder structure, ordnerstruktur, verzeichnisbaum, arborescence, estructura de carpetas,
        árbol de archivos, struttura delle cartelle, estrutura de pastas, mappenstructuur, структура папок,
        フォルダ構成, ディレクトリ構造, 目录结构, 文件夹结构, 폴더 구조
        """
    WEB = """
        on the web, search the web, internet, online, google, latest news, im netz, im internet, googeln, nachrichten,
        sur le web, sur internet, en ligne, actualités, en la web, en internet, en línea, noticias,
        sul web, su internet, notizie, na web, na internet, notícias, op internet, nieuws,
        в интернете, в сети, новости, ネットで, インターネット, ウェブ, ニュース, 网上, 互联网, 上网, 新闻, 인터넷, 뉴스
        """
    TALK = """
        hi, hello, hey, thanks, thank you, ok, okay, yes, no, good morning, good evening, good night, bye, there,
        hallo, guten tag, guten morgen, guten abend, danke, danke schön, vielen dank, ja, nein, tschüss, alles klar,
        bonjour, salut, bonsoir, merci, merci beaucoup, oui, non, d'accord, au revoir,
        hola, buenos días, buenas tardes, buenas noches, gracias, muchas gracias, sí, vale, adiós,
        ciao, buongiorno, buonasera, grazie, sì, va bene, olá, oi, bom dia, boa tarde, boa noite, obrigado, obrigada, sim, não,
        goedemorgen, dank je, bedankt, nee, привет, здравствуйте, спасибо, да, нет, пока, доброе утро,
        こんにちは, こんばんは, おはよう, おはようございます, ありがとう, ありがとうございます, はい, いいえ, さようなら,
        你好, 您好, 谢谢, 好的, 是的, 不是, 再见, 早上好, 晚上好, 안녕, 안녕하세요, 감사합니다, 고마워요, 네, 아니요
        """


def asks_for(question: str, wish: Wish) -> bool:
    """Whether a question has one of the phrases."""
    words = _spaced(question)
    return any(f" {phrase} " in words for phrase in _phrases(wish))


def is_only(question: str, wish: Wish) -> bool:
    """Whether there is nothing else in it, such as in a greeting."""
    left = _spaced(question)
    for phrase in _phrases(wish):
        # Where two meet, they share a space.
        while (shorter := left.replace(f" {phrase} ", _BETWEEN)) != left:
            left = shorter
    return not left.replace("·", "").strip()


def _spaced(text: str) -> str:
    return f" {' '.join(split_words(text))} "


@cache
def _phrases(wish: Wish) -> tuple[str, ...]:
    """The longest first, so that a longer phrase is not cut by a shorter one."""
    phrases = {" ".join(split_words(each)) for each in wish.value.split(",")}
    return tuple(sorted(filter(None, phrases), key=lambda each: (-len(each), each)))
