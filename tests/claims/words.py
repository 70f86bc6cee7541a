#!/usr/bin/python3
"""The prose of the project is plain English, and its references lead somewhere.

Counts, for each pattern below, the sentences that contain it: in docs/, the READMEs, CONTRIBUTING,
and the comments of CSL, C, table and Python sources.  Code, quoted text and literals do not count.
Each count is zero; EXCEPTIONS lists the sentences that may stay, each with its reason.  An
exception that no sentence needs any more fails, and so does a pattern that misses its own example.
Also counts lines that three pages share.

    words.py [--root=DIR] [-v]     --root: the sources of another checkout; -v: print each sentence

Short form: test_claims.py::test_a_quick_claim_holds.
"""
import argparse
import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

from claims import Claims, harness

# What is counted per what: "8 words a cycle" is "8 words per cycle".
COUNTED = (r"cycles|words|elements|wavelets|bytes|bits|tiles|instructions|operations|links|objects|"
           r"rows|lines|headers|handles|NaN|roundings?|colors|queues|registers|pieces|"
           r"executables|analys[ei]s|terminators?|classes|places|modules|entries|times|Gb/s|values|"
           r"arguments|messages|once|twice")
COUNTED_ONE = (r"cycle|word|element|wavelet|byte|bit|tile|instruction|operation|object|row|line|"
               r"header|function|handle|test|case|color|queue|register|copy|value|argument|message|"
               r"number")
NUMBER = r"(?:an?|one|two|three|four|eight|half|some|several|many|N|\d[\d.,]*|at most one)"
NOUN = (r"(?!(?:is|has|as|of|in|to|for|with|at|on|by|from|per|such|than|and|or|not|that|which|if|"
        r"when|without|it|its)\b)[\w-]+")
UNITS = (r"cycle|word|element|tile|second|wavelet|call|line|run|row|file|format|step|class|group|"
         r"link|color|queue|folder|room|operation|instruction|byte|channel|axis|block|function|"
         r"test|launch|thread|record|stage|outcome|port|turn|page|module|program|phase|level|"
         r"statement|object|task|router|side|direction|column|mistake|construct|topic|layer|"
         r"sample|section|place|kind|machine|region|visit|pass|node|loop|key|name|entry|side|"
         r"message|register|slot|value|type|finding|fault|bank|iteration|round|piece|vector|rule|"
         r"id|case|strip|argument|field|worker|request|session|script|trace|image")

PLACE = (r"Under|Behind|Over|Before|After|Between|In|On|At|From|Beside|Above|Below|Around|Outside|"
         r"Inside|Within|Here|There|Then")

# A pattern sees one sentence at a time, without code and quoted text.
PATTERNS = {
    "a for per": rf"(?i)\b(?:(?:{COUNTED})|one|two|three|four|\d+|{NUMBER} {NOUN}|{NUMBER} [\w-]+ (?:{COUNTED_ONE})) "
                 rf"an? (?:{UNITS})\b"
                 r"(?! (?:of|that|is|in|has|with|whose|which|may|can|for|it)\b)",
    "tell": r"\b(?:tells?|told|telling)\b",
    "nobody": r"\b(?:nobody|no one|somebody|someone|anybody|anyone|everybody|everyone)\b",
    "who": r"\b(?:who|whom|whoever)\b",
    "inversion": r"^(?:Not (?:until|only)\b|Only (?:then|when|after|if|there|so)\b.*\b"
                 r"(?:do|does|is|are|can|may|has|have)\b|Nor\b|Neither (?:do|does|is|are|can|has)"
                 r"\b|Never (?:do|does|is|are|can|has)\b|(?:So|Thus|Hence) (?:do|does|is|are|can|"
                 r"has|have|ends?|stands?)\b|Hence neither\b|(?:Lost|Not used|Promised|Left) "
                 r"(?:are|is)\b|(?:Here|There|Then|Under it|Over it|Behind it|In it) (?:stands?|"
                 rf"lies?|sits?)\b|(?:{PLACE}) (?:(?:an?|the|it|its|each|this|that|these|all) )?"
                 r"(?:(?!it |they )[\w`'-]+ ){0,3}(?:stands?|lies?|goes|comes?|follows?|sits?) "
                 r"(?:an?|the|its|their|no|all)\b)|"
                 r"[,;] (?:nor|neither) (?:do|does|is|are|can|has|have|will)\b",
    "nested which": r"\bwhich\b[^.;:]*\bwhich\b",
    "nested that": r"\b(?:that|which|whose) (?:(?:an?|the|its|no|of|each|in|to|for)\b ?)*\w+ "
                   r"(?:that|whose)\b(?! (?:is|are|was)\b)",
    "three that": r"\bthat\b[^.;:,()]*\bthat\b[^.;:,()]*\bthat\b",
    "comma that": r"[a-z0-9`*)], that\b(?! (?:is|has|are|does)\b)",
    "starts with of": r"^Of (?:the|several|two|three|these|those|all|an?)\b",
    "that as subject": r"^That (?:an?|the|it|its|no|all|each|this|there)\b",
    "out of reach": r"\b[Ll]anguage reference\b|\b(?:decisions|interfaces|style|timing)\.md\b|"
                    r"\b[Ll]adder\b|\bmust[- ]show|§|(?<![\w.])[A-HJ-Z]\.\d{1,2}\b(?!\d)|"
                    r"\bissues? #\d+\b|\b(?:[Ss]ee|of|by|for) issues? \d+\b|/work/",
}

# A sentence that each pattern must find, and one that it must not.
EXAMPLES = {
    "a for per": ("It moves two words a cycle.", "It runs a cycle later."),
    "tell": ("The report tells the cycles.", "The report shows the cycles."),
    "nobody": ("It is seen by nobody.", "No tile sees it."),
    "who": ("It shows who waits for what.", "It shows what each tile waits for."),
    "inversion": ("Behind the data goes a command.", "A command goes behind the data."),
    "nested which": ("A tile which has a color which is full waits.", "A tile which waits."),
    "nested that": ("An element that an operation that started before writes.",
                    "An element that an operation writes."),
    "three that": ("A tile that has a color that a route that is closed uses.",
                   "A tile that waits."),
    "comma that": ("The rules of the page, that no tile can move.", "The rule that no tile moves."),
    "starts with of": ("Of several the first wins.", "The first of several wins."),
    "that as subject": ("That the bit is kept is assumed.", "We assume that the machine keeps it."),
    "out of reach": ("See the language reference, H.2.", "See docs/isa.md; IEEE 754, O3.1."),
}

# Sentences that may stay: (pattern, file, a piece of the sentence): the reason.
EXCEPTIONS = {
    ("nobody", "docs/isa.md", "entry 31 is nobody"):
        "the source of a row of machine.def; the rows are part of the hash in every image",
}

SHARED_LENGTH = 25      # characters; shorter lines may be alike by chance

MARKDOWN = ("README.md", "CONTRIBUTING.md", "docs/*.md", "samples/**/*.md", "tests/**/*.md")
SOURCES = ("stdlib/**/*.csl", "samples/**/*.csl", "*.c", "*.h", "*.def", "*.l", "*.y", "*.py")


class Sentence:
    """One sentence of prose and the place where its paragraph begins."""

    def __init__(self, path, line, text, raw):
        self.path, self.line, self.text, self.raw = path, line, text, raw


def split_sentences(path, line, raw):
    """The sentences of a paragraph; text in backquotes, quotation marks or braces is left out."""
    raw = re.sub(r"\s+", " ", raw).strip()
    for part in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z*\"'(`_@\[\d-])", raw):
        text = re.sub(r"``?[^`]*`?`|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)", "`x`", part)
        yield Sentence(path, line, text.strip(" *"), part)


def read_markdown(text):
    """(line, paragraph) of a page; a table's cell and a list's item are paragraphs of their own."""
    found, start, fence = [], 0, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence, start = not fence, 0
        elif fence or line.startswith("    ") and not start or line.startswith("<!--"):
            continue
        elif not line.strip():
            start = 0
        elif line.startswith("|"):
            found += [(number, cell) for cell in re.split(r"(?<!\\)\|", line) if cell.strip()]
            start = 0
        elif re.match(r"#|\s*(?:[-*]|\d+\.) ", line) or not start:
            found.append((number, re.sub(r"^#+ |^\s*(?:[-*]|\d+\.) ", "", line)))
            start = 0 if line.startswith("#") else number
        else:
            found[-1] = (found[-1][0], found[-1][1] + " " + line)
    return found


def join_lines(comments):
    """Joins (line, column, is alone on its line, text) of neighbouring lines to paragraphs."""
    found, last = [], (0, 0, False)
    for line, column, is_alone, text in comments:
        continues = line == last[0] + 1 and is_alone and (last[2] or column == last[1])
        if found and continues and text.strip() and found[-1][1].strip():
            found[-1] = (found[-1][0], found[-1][1] + " " + text)
        else:
            found.append((line, text))
        last = (line, column, is_alone)
    return found


C_TOKEN = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/", re.S)


def read_c(text):
    comments = []
    for token in C_TOKEN.finditer(text):
        body = token.group()
        if body[0] != "/" or re.match(r"//[#~]", body):
            continue
        first = text.count("\n", 0, token.start()) + 1
        before = text[text.rfind("\n", 0, token.start()) + 1:token.start()]
        lines = [body.lstrip("/!")] if body.startswith("//") else body[2:-2].split("\n")
        for offset, line in enumerate(lines):
            comments.append((first + offset, len(before), offset > 0 or not before.strip(),
                             re.sub(r"^\s*\*+ ?", "", line)))
    return join_lines(comments)


def read_python(text):
    comments = [(*token.start, not token.line[:token.start[1]].strip(), token.string.lstrip("#!"))
                for token in tokenize.generate_tokens(io.StringIO(text).readline)
                if token.type == tokenize.COMMENT]
    found = join_lines(comments)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                if paragraph.strip():
                    found.append((node.body[0].lineno, paragraph))
    return found


def find_sentences(root):
    def listed(patterns):
        out = subprocess.run(["git", "-C", root, "ls-files", "-z", *patterns], check=True,
                             capture_output=True, text=True).stdout
        return sorted(set(filter(None, out.split("\0"))))

    readers = {".md": read_markdown, ".py": read_python}
    for path in listed([f":(glob){p}" for p in MARKDOWN] + list(SOURCES)):
        text = (Path(root) / path).read_text(errors="replace")
        if path == "tests/claims/words.py" or "tests/golden/" in path and path.endswith(".csl"):
            continue
        for line, paragraph in readers.get(Path(path).suffix, read_c)(text):
            yield from split_sentences(path, line, paragraph)


def find_places(sentences):
    """{pattern: sentences in which it occurs}"""
    compiled = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
    found = {name: [] for name in PATTERNS}
    for sentence in sentences:
        for name, pattern in compiled.items():
            if pattern.search(sentence.raw if name == "out of reach" else sentence.text):
                found[name].append(sentence)
    return found


def find_shared_lines(root):
    """Lines of text or code, places in files aside, that three pages have: one should have them."""
    pages = {}
    listed = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    for path in listed:
        for line in path.read_text().splitlines():
            line = re.sub(r"\d+:\d+", "", line.strip())
            if len(line) >= SHARED_LENGTH and not line.startswith("|"):
                pages.setdefault(line, set()).add(path.name)
    return {line: sorted(names) for line, names in pages.items() if len(names) >= 3}


def exception_of(name, sentence):
    """The key in EXCEPTIONS that explains the sentence; None if there is none."""
    for key in EXCEPTIONS:
        if key[:2] == (name, sentence.path) and key[2] in sentence.raw:
            return key
    return None


def check_examples(claims):
    for name in PATTERNS:
        bad, good = (list(split_sentences("", 0, text)) for text in EXAMPLES[name])
        claims.equals(f"'{name}' finds its example, and not the other",
                      (len(find_places(bad)[name]), len(find_places(good)[name])), (1, 0))


def check_counts(claims, root, is_verbose):
    sentences = list(find_sentences(root))
    claims.at_least("sentences read", len(sentences), 10_000)
    needed = set()
    for name, places in find_places(sentences).items():
        explained = [exception_of(name, sentence) for sentence in places]
        needed.update(filter(None, explained))
        for sentence, key in zip(places, explained):
            if not key or is_verbose:
                print(f"  {sentence.path}:{sentence.line}: {sentence.raw[:200]}")
        claims.equals(f"'{name}': {len(places)} sentences, {len(places) - explained.count(None)} "
                      "explained; the others", explained.count(None), 0)
    for key, reason in EXCEPTIONS.items():
        print(f"exception '{key[2]}' ({key[0]}, {key[1]}): {reason}")
    claims.equals("exceptions that no sentence needs", len(set(EXCEPTIONS) - needed), 0)


def check_shared(claims, root):
    shared = find_shared_lines(root)
    for line, names in shared.items():
        print(f"  {', '.join(names)}: {line}")
    claims.equals("lines that three pages share", len(shared), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", default=harness.ROOT, type=Path)
    parser.add_argument("-v", action="store_true", dest="is_verbose")
    options = parser.parse_args()
    claims = Claims()
    check_examples(claims)
    check_counts(claims, options.root, options.is_verbose)
    check_shared(claims, options.root)
    claims.finish()


if __name__ == "__main__":
    main()
