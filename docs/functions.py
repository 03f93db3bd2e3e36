#!/usr/bin/env python3
"""Writes docs/reference/functions/*.md from the manual pages in the comments of src/ and include/.

`make docs` calls it. A page holds what belongs to one type: the type itself, its functions, its enumerations.

    docs/functions.py --write    also the list of docs/reference/functions.md, from the headers, and the functions beside
                                 the options of docs/reference/options.md, from petsc-plugin.yaml; tests/docs compares
"""

import glob, os, re, sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(TOP, 'docs', 'reference', 'functions')
GROUPS = [
    ('PCRRB', 'PC rrb'),
    ('KSPRRB', 'KSP rrb'),
    ('PCAuxAMG', 'PC auxamg'),
    ('SNESVIPMG', 'SNES vipmg'),
    ('TaoVIPMG', 'Tao vipmg'),
    ('PCDenseGS', 'PC densegs'),
    ('SNESVIPGS', 'SNES vipgs'),
    ('TaoVIPGS', 'Tao vipgs'),
    ('Tessera', 'All types'),
]
# Headings of PETSc's manual pages; `Parameters` and the like have entries that begin with +, . and -.
HEADING = re.compile(
    r'(Input|Output|Input/Output) Parameters?|Options Database Keys?|Values|Notes?|Fortran Notes?|Developer Notes?|'
    r'References?|Calling sequence.*|Sample usage|Example.*|Algorithm|Method|Limits?'
)


def manual_pages():
    """{name: (kind, summary, lines, prototype)}"""
    found = {}
    for path in sorted(glob.glob(TOP + '/include/*.h') + glob.glob(TOP + '/src/**/*.cxx', recursive=True)):
        text = open(path).read()
        for m in re.finditer(r'/\*(@C?|MC|E|S)\n(.*?)\n\s*(?:@|M|E|S)\*/\n?([^\n{;(]*(?:\([^{;]*\))?)', text, re.S):
            lines = m.group(2).rstrip().split('\n')
            while lines and not lines[0].strip():
                lines.pop(0)
            name, _, summary = lines[0].strip().partition(' - ')
            rest = lines[1:]
            while rest and rest[0].strip() and not HEADING.match(rest[0].strip()):
                summary += ' ' + rest.pop(0).strip()
            found[name] = (m.group(1)[0], summary, rest, ' '.join(m.group(3).split()) if m.group(1)[0] == '@' else '')
    return found


def entry(name, page):
    kind, summary, lines, prototype = page
    out = ['## %s' % name, '', summary[:1].upper() + summary[1:].rstrip('.') + '.', '']
    if prototype:
        out += ['```c', prototype, '```', '']
    listing, code = False, False
    for line in lines:
        text = line.strip()
        if text.startswith('.seealso'):
            out += ['', 'See also: ' + text.partition(':')[2].strip(), '']
            continue
        item = re.match(r'[+.\-]\s*(\S.*?)\s+- (.*)', text)
        level = re.match(r'Level: (\w+)', text)
        head = re.fullmatch(r'(%s):' % HEADING.pattern, text)
        if text == '.vb' or text == '.ve':
            code = text == '.vb'
            out += ['', '```text'] if code else ['```', '']
        elif code:
            out.append(line)
        elif head:
            out += ['', '**%s**' % head.group(1), '']
            listing = False
        elif level:
            out += ['', '*Level: %s*' % level.group(1), '']
        elif item:
            what = item.group(1)
            label = what if '`' in what else '`%s`' % what
            out.append('- ' + (item.group(2) if what == '*' else label + ': ' + item.group(2)))
            listing = True
        elif text and listing and out[-1]:
            out[-1] += ' ' + text
        else:
            listing = listing and bool(text)
            out.append(text)
    return re.sub(r'\n{3,}', '\n\n', '\n'.join(out)) + '\n'


def setters(text):
    """options.md with the column of functions that set the options."""
    known = dict(re.findall(r'\{key: (\S+), .*setter: (\w+)\}', open(TOP + '/petsc-plugin.yaml').read()))
    head = '| option | values | default | %smeaning |\n|---|---|---|%s---|\n'
    text = text.replace(head % ('', ''), head % ('function | ', '---|'))
    row = r'^\| (?:`(-\w+)`|prefix `\w+`) \|((?:[^|\n]*\|){2}) (?:(?:`\w+\(\)`)? \|(?= \S[^|\n]*\|$))?(.*\|)$'

    def filled(m):
        setter = known.get(m.group(1))
        return '| %s |%s %s | %s' % (m.group(0).split(' | ')[0][2:], m.group(2), '`%s()`' % setter if setter else '', m.group(3).strip())

    return re.sub(row, filled, text, flags=re.M)


def public():
    """The functions that the headers declare, in their order."""
    text = ''.join(open(path).read() for path in sorted(glob.glob(TOP + '/include/*.h')))
    return re.findall(r'^PETSC_EXTERN PetscErrorCode (\w+)\(', text, re.M)


def listed(text):
    """functions.md with the list of all functions: those that set beside those that get."""
    pages, names, out = manual_pages(), public(), []
    left = list(names)
    for prefix, title in GROUPS:
        mine = [n for n in left if n.lower().startswith(prefix.lower())]
        left = [n for n in left if n not in mine]
        getter = lambda name: re.sub('^Set', 'Get', name[len(prefix):])
        rows, found = [], {getter(n) for n in mine if n[len(prefix):].startswith('Set')}
        for name in mine:
            pair = name[:len(prefix)] + getter(name)
            if name[len(prefix):].startswith('Set') and pair in mine:
                rows.append(('`%s()`, `%s()`' % (name, pair), name))
            elif name[len(prefix):] not in found:
                rows.append(('`%s()`' % name, name))
        table = ['| %s | %s |' % (shown, pages[name][1].rstrip('.')) for shown, name in rows]
        out += ['### ' + title, '| functions | |', '|---|---|'] + table + [''] if mine else []
    if left:
        sys.exit('docs/functions.py: no group for ' + ', '.join(left))
    block = '<!-- functions -->\n%s<!-- /functions -->' % '\n'.join(out + [''])
    return re.sub(r'<!-- functions -->\n.*?<!-- /functions -->', lambda m: block, text, flags=re.S)


REFERENCE = {'docs/reference/options.md': setters, 'docs/reference/functions.md': listed}


def stale():
    """{page: what it should be} of the reference pages that are not so."""
    read = lambda page: open(os.path.join(TOP, page)).read()
    return {page: fill(read(page)) for page, fill in REFERENCE.items() if fill(read(page)) != read(page)}


def main():
    os.makedirs(OUT, exist_ok=True)
    for old in glob.glob(OUT + '/*.md'):
        os.remove(old)
    pages = manual_pages()
    left = set(pages)
    for prefix, title in GROUPS:
        mine = sorted((n for n in left if n.lower().startswith(prefix.lower())), key=lambda n: (n != n.upper(), n))
        if prefix == 'Tessera':
            mine = sorted(left)
        left -= set(mine)
        if mine:
            with open('%s/%s.md' % (OUT, prefix), 'w') as file:
                file.write('# %s\n\n' % title + '\n'.join(entry(n, pages[n]) for n in mine))
    return len(pages)


if __name__ == '__main__':
    for page, text in stale().items() if '--write' in sys.argv[1:] else ():
        open(os.path.join(TOP, page), 'w').write(text)
    print('%d manual pages' % main())
