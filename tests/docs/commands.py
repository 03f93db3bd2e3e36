"""The commands that a page shows, and what it says that they print.

    commands.py PAGE           runs the blocks ```console of the page, one line ok or not ok for each
    commands.py --write PAGE   puts in what the commands print

A block after `<!-- not run: why -->` is left out. Numbers with a point or an exponent, and integers over 100, may be
off by five per cent; after `<!-- times vary -->` the former may be anything. TESSERA_LIB is `$lib`.
"""

import os, re, subprocess, sys, tempfile

BLOCK = re.compile(r'((?:<!-- (not run|times vary)[^\n]*-->\n)?)```console\n(.*?)```\n', re.S)
NUMBER = re.compile(r'(?<![\w.])-?\d+(?:\.\d*)?(?:e[+-]\d+)?(?![\w])')


def same(shown, printed, free):
    """Is the line the same but for numbers that may vary?"""
    a, b = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub('#', shown).split() != NUMBER.sub('#', printed).split() or len(a) != len(b):
        return False
    for x, y in zip(a, b):
        real = not re.fullmatch(r'-?\d+', x)
        if real and free:
            continue
        tolerance = 0.05 * abs(float(x)) if real or abs(int(x)) > 100 else 0
        if abs(float(x) - float(y)) > tolerance:
            return False
    return True


class Shell:
    """Commands in one folder; variables that they set stay."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.variables = ''

    def run(self, command):
        """What it prints."""
        if re.match(r'\w+=', command):
            self.variables += command + '\n'
            command = ''
        r = subprocess.run(
            ['bash', '-c', self.variables + command],
            cwd=self.folder.name,
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, lib=os.environ['TESSERA_LIB']),
        )
        return r.stdout.rstrip('\n').split('\n') if r.stdout.strip() else []


def pairs(block):
    """[(command, lines shown)]"""
    found = []
    for line in block.rstrip('\n').split('\n'):
        if line.startswith('$ '):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def main():
    write, page = sys.argv[1] == '--write', sys.argv[-1]
    text, shell, number, failures = open(page).read(), Shell(), 0, 0

    def block(match):
        nonlocal number, failures
        if match.group(2) == 'not run':
            return match.group(0)
        out = []
        for command, shown in pairs(match.group(3)):
            printed = shell.run(command)
            out += ['$ ' + command] + [line.rstrip() for line in printed]
            number += 1
            free = match.group(2) == 'times vary'
            good = len(shown) == len(printed) and all(same(a, b, free) for a, b in zip(shown, printed))
            if not write:
                failures += not good
                print('%s %d - %s: %s' % ('ok' if good else 'not ok', number, os.path.basename(page), command[:100]))
                if not good:
                    print(
                        ''.join('# shown:   %s\n' % line for line in shown)
                        + ''.join('# printed: %s\n' % line for line in printed),
                        end='',
                    )
                sys.stdout.flush()
        return match.group(1) + '```console\n' + '\n'.join(out) + '\n```\n'

    new = BLOCK.sub(block, text)
    if write:
        open(page, 'w').write(new)
    return failures > 0


if __name__ == '__main__':
    sys.exit(main())
