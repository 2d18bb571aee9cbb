#!/usr/bin/env python3
"""Writes data/cldr/LANGUAGE.txt: names of months, forms of dates, eras, "and" and
"or", and names of units, from the Unicode Common Locale Data Repository as
packaged in Babel 2.18 (CLDR 47; Unicode License v3).

    pip install Babel==2.18.0
    python3 make.py ../../data/cldr

Only values that a language has itself are written, none that it inherits from
the root of CLDR. English is written by hand (data/en.txt)."""
import os, re, sys
from babel import Locale, localedata

# Units of {{convert}} that CLDR names. The key is the name in package wikitext.
UNITS = {
    'kilometre': 'length-kilometer', 'metre': 'length-meter', 'centimetre': 'length-centimeter', 'millimetre': 'length-millimeter',
    'mile': 'length-mile', 'foot': 'length-foot', 'inch': 'length-inch', 'yard': 'length-yard', 'nautical mile': 'length-nautical-mile',
    'light-year': 'length-light-year', 'parsec': 'length-parsec', 'astronomical unit': 'length-astronomical-unit', 'fathom': 'length-fathom', 'furlong': 'length-furlong',
    'square kilometre': 'area-square-kilometer', 'square metre': 'area-square-meter', 'square centimetre': 'area-square-centimeter', 'hectare': 'area-hectare',
    'square mile': 'area-square-mile', 'acre': 'area-acre', 'square foot': 'area-square-foot', 'square yard': 'area-square-yard', 'square inch': 'area-square-inch',
    'kilogram': 'mass-kilogram', 'gram': 'mass-gram', 'milligram': 'mass-milligram', 'tonne': 'mass-tonne', 'pound': 'mass-pound', 'ounce': 'mass-ounce',
    'stone': 'mass-stone', 'short ton': 'mass-ton',
    'cubic metre': 'volume-cubic-meter', 'cubic kilometre': 'volume-cubic-kilometer', 'cubic centimetre': 'volume-cubic-centimeter', 'litre': 'volume-liter', 'millilitre': 'volume-milliliter',
    'cubic foot': 'volume-cubic-foot', 'cubic inch': 'volume-cubic-inch', 'cubic yard': 'volume-cubic-yard', 'cubic mile': 'volume-cubic-mile',
    'US gallon': 'volume-gallon', 'imperial gallon': 'volume-gallon-imperial', 'acre-foot': 'volume-acre-foot', 'barrel': 'volume-barrel',
    'kilometre per hour': 'speed-kilometer-per-hour', 'mile per hour': 'speed-mile-per-hour', 'metre per second': 'speed-meter-per-second', 'knot': 'speed-knot',
    'degree Celsius': 'temperature-celsius', 'degree Fahrenheit': 'temperature-fahrenheit', 'kelvin': 'temperature-kelvin',
    'horsepower': 'power-horsepower', 'kilowatt': 'power-kilowatt', 'megawatt': 'power-megawatt', 'watt': 'power-watt',
    'pound per square inch': 'pressure-pound-force-per-square-inch', 'hectopascal': 'pressure-hectopascal', 'kilopascal': 'pressure-kilopascal', 'bar': 'pressure-bar', 'inch of mercury': 'pressure-inch-ofhg',
    'kilojoule': 'energy-kilojoule', 'kilocalorie': 'energy-kilocalorie', 'kilowatt-hour': 'energy-kilowatt-hour',
    'newton': 'force-newton', 'pound-force': 'force-pound-force', 'newton-metre': 'torque-newton-meter', 'pound-foot': 'torque-pound-force-foot',
}

# Languages that have a Wikipedia.
WIKIS = """ab af ak am an ar as ast av ay az ba be bg bm bn bo br bs ca ce ceb chr ckb co cs cv cy da de din dsb dv dz ee el eo es et eu
fa ff fi fo fr frr fur fy ga gd gl gn gsw gu gv ha haw he hi hr hsb ht hu hy ia id ie ig ii is it iu ja jbo jv ka kab kg ki kk kl km kn ko
ks ksh ku kw ky la lb lg lij ln lo lt ltg lv mai mg mi mk ml mn mr ms mt my mzn nap nb nds ne nl nn nqo nso nv ny oc om or os pa pcm pl ps
pt qu rm rn ro ru rw sa sah sat sc scn sd se sg shn si sk sl sm sn so sq sr ss st su sv sw szl ta te tg th ti tk tn to tpi tr ts tt tum ug
uk ur uz ve vec vi wa wo xh yi yo yue za zgh zh zu"""


def clean(text):
    for space in '\u00a0\u202f\u2009':
        text = text.replace(space, ' ')
    return re.sub('[\u200e\u200f\u061c]', '', text).strip()


def quoted(text):
    return '"%s"' % text if text != text.strip() or text.startswith('"') or not text else text


def pattern(text):
    """Turns a CLDR date pattern into one with {d}, {m}, {month}, {alone}, {y} and {era}."""
    names = {'d': '{d}', 'dd': '{d}', 'M': '{m}', 'MM': '{m}', 'MMM': '{month}', 'MMMM': '{month}', 'L': '{m}', 'LL': '{m}', 'LLL': '{alone}', 'LLLL': '{alone}', 'y': '{y}', 'G': '{era}', 'GGGG': '{era}'}
    out = ''
    for literal, letters, other in re.findall(r"'([^']*)'|([A-Za-z]+)|([^A-Za-z']+)", text):
        if letters:
            if letters not in names:
                return None
            out += names[letters]
        else:
            out += literal or other
    return clean(out)


def month_lines(l, root):
    form = l.months['format']['wide']
    if form[1].startswith('M0'):  # inherited
        return
    alone = l.months['stand-alone']['wide']
    for k in range(1, 13):
        yield 'month %02d' % k, clean(form[k])
        if clean(alone[k]) != clean(form[k]) and not alone[k].startswith('M0') and not alone[k].startswith('M1'):
            yield 'month-alone %02d' % k, clean(alone[k])
    sk = l.datetime_skeletons
    day, month = pattern(l.date_formats['long'].pattern), pattern(sk['yMMMM'].pattern) if 'yMMMM' in sk else None
    if day == '{y} {month} {d}':  # inherited
        return
    if day and month and '{y}' in day and ('{month}' in day or '{m}' in day or '{alone}' in day):
        yield 'date day', day.replace(' {era}', '')  # Thai and Latin name the era, wikis do not
        yield 'date month', month
        if 'MMMMd' in sk and pattern(sk['MMMMd'].pattern):
            yield 'date year-less', pattern(sk['MMMMd'].pattern)


def era_lines(l, root):
    eras, plain = l.eras.get('abbreviated', {}), root.eras.get('abbreviated', {})
    sk = l.datetime_skeletons
    if eras.get(0) and eras.get(1) and eras[0] != plain.get(0) and 'Gy' in sk and pattern(sk['Gy'].pattern):
        yield 'date era', pattern(sk['Gy'].pattern)
        yield 'era bc', clean(eras[0])
        yield 'era ad', clean(eras[1])


def list_lines(l, root):
    for name, style in (('and', 'standard'), ('or', 'or')):
        two = l.list_patterns.get(style, {}).get('2')
        if two and two != root.list_patterns[style]['2'] and two.startswith('{0}') and two.endswith('{1}'):
            yield 'label ' + name, re.sub('[\u00a0\u202f]', ' ', two[3:-3])


def unit_lines(l, root):
    data, plain = l._data['unit_patterns'], root._data['unit_patterns']
    for name, key in UNITS.items():
        unit, of_root = data.get(key, {}), plain.get(key, {})
        for style, kind in (('long', 'unit-name'), ('short', 'unit-symbol')):
            forms, base = unit.get(style, {}), of_root.get(style, of_root.get('short', {}))
            forms = {k: clean(v) for k, v in forms.items() if k in ('zero', 'one', 'two', 'few', 'many', 'other') and v.count('{0}') == 1 and isinstance(v, str)}
            other = forms.get('other')
            if not other or style == 'long' and other == clean(base.get('other', '')):
                continue
            if style == 'long' and other == clean(unit.get('short', {}).get('other', '')) and len(set(forms.values())) == 1:
                continue  # the symbol is the name
            if style == 'short' and other == clean(base.get('other', '')):
                continue
            yield '%s %s' % (kind, name), other
            for k, v in forms.items():
                if k != 'other' and v != other:
                    yield '%s %s %s' % (kind, name, k), v


def main(out):
    os.makedirs(out, exist_ok=True)
    root = Locale('en')
    for name in sorted(set(WIKIS.split()) & set(localedata.locale_identifiers())):
        # Babel resolves the aliases of one language in data that all share: without this, the
        # names of months that stand alone in one are those of others too.
        localedata._cache.clear()
        l, lines = Locale.parse(name), []
        for make in (month_lines, era_lines, list_lines, unit_lines):
            lines += ['%s | %s' % (k, quoted(v)) for k, v in make(l, root) if v]
        if lines:
            with open(os.path.join(out, name + '.txt'), 'w', encoding='utf8') as f:
                f.write('# Source: Unicode CLDR 47 (Unicode License v3), written by internal/cldr/make.py.\n[%s]\n%s\n' % (name, '\n'.join(sorted(set(lines)))))


main(sys.argv[1])
