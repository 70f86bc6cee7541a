"""What the shape of C code can be read from: functions, tokens, fields, calls, circles of files.

Good enough for this project's own style (a function's head starts in column 0 and ends in a brace);
no C parser.
"""
import re
from collections import defaultdict
from typing import NamedTuple

HEAD = re.compile(r"^(?!typedef\b)([A-Za-z_][\w ]*?[ *]+)(\w+)(\([^;{}]*\))\s*\{", re.M)
DECLARATION = re.compile(r"^(?!static\b|typedef\b)(?:[A-Za-z_][\w ]*?[ *]+)(\w+)\([^;{}]*\)\s*;",
                         re.M)
STRUCT = re.compile(r"\b(?:struct|union)\b\s*(\w*)\s*\{")
OPERATORS = (r"->|\+\+|--|<<=|>>=|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|\.\.\.")
COMMENT_OR_TEXT = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


class Function(NamedTuple):
    name: str
    is_static: bool
    parameters: str
    body: str


def plain(text):
    """Without comments, and with empty texts and characters."""
    def shorter(found):
        first = found.group()[0]
        return " " if first == "/" else first * 2
    return COMMENT_OR_TEXT.sub(shorter, text)


def code_lines(text):
    """How many lines have something that is neither comment nor space."""
    return sum(bool(line.strip()) for line in plain(text).split("\n"))


def closing(text, start):
    """The place behind the brace that closes the one at `start`."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.end()
    return len(text)


def without_directives(text):
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.M)


def functions(text):
    """The functions that a file defines."""
    text = without_directives(plain(text))
    return [Function(m.group(2), bool(re.match(r"static\b", m.group(1))), m.group(3),
                     text[m.end() - 1:closing(text, m.end() - 1)])
            for m in HEAD.finditer(text)]


def defined(text):
    """Names of the functions that a file offers to others."""
    return {f.name for f in functions(text) if not f.is_static}


def declared(text):
    return set(DECLARATION.findall(without_directives(plain(text))))


def tokens(text):
    return re.findall(rf"\w+|{OPERATORS}|[^\s\w]", text)


def struct_fields(text):
    """(name, fields) of each struct; the fields of a struct or union inside count as its own."""
    text = without_directives(plain(text))
    found, end = [], 0
    for start in STRUCT.finditer(text):
        if start.start() < end:
            continue
        end = closing(text, start.end() - 1)
        name = start.group(1) or (re.match(r"\s*(\w+)\s*;", text[end:]) or [None, "?"])[1]
        found.append((name, count_fields(text[start.end():end - 1])))
    return found


def count_fields(body):
    """The names that the declarations of a struct's body declare."""
    body = re.sub(r"\([^()]*\)", "", body)                    # parameters of function pointers
    body = re.sub(r"\benum\b\s*\w*\s*\{[^{}]*\}", "int", body)
    while True:
        # `struct { int a, b; } c;` is a and b; `struct { int a; };` is a.
        inner = re.search(r"\b(?:struct|union)\b\s*\w*\s*\{([^{}]*)\}[^;{}]*;", body)
        if not inner:
            break
        body = body[:inner.start()] + inner.group(1) + body[inner.end():]
    return sum(part.count(",") + 1 for part in body.split(";") if part.strip())


def calls(sources):
    """(user, definer) -> names, for sources {key: text}; a function's name counts as its use."""
    texts = {key: plain(text) for key, text in sources.items()}
    home = {name: key for key, text in sources.items() for name in defined(text)}
    arrows = defaultdict(set)
    for key, text in texts.items():
        for word in set(re.findall(r"\w+", text)):
            if word in home and home[word] != key:
                arrows[key, home[word]].add(word)
    return arrows


def includes(sources):
    """(user, included) -> the text of the line, for sources {path: text} of one tree."""
    by_name = defaultdict(list)
    for path in sources:
        by_name[path.name].append(path)
    arrows = {}
    for path, text in sources.items():
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            for other in by_name.get(name.rsplit("/", 1)[-1], ()):
                if str(other).endswith(name) and other != path:
                    arrows[path, other] = name
    return arrows


def largest_circle(nodes, arrows):
    """The most nodes of which each leads to each."""
    reach = {n: {n} for n in nodes}
    changed = True
    while changed:
        changed = False
        for a, b in arrows:
            if not reach[b] <= reach[a]:
                reach[a] |= reach[b]
                changed = True
    return max((sorted(m for m in reach[n] if n in reach[m]) for n in nodes), key=len)
