package wikitext

// units maps the codes of {{convert}} to the symbols or words that are shown.
var units = map[string]string{
	"km2": "km²", "sqkm": "km²", "m2": "m²", "sqm": "m²", "cm2": "cm²", "mm2": "mm²", "mi2": "sq mi", "sqmi": "sq mi",
	"ft2": "sq ft", "sqft": "sq ft", "yd2": "sq yd", "sqyd": "sq yd", "in2": "sq in", "sqin": "sq in", "nmi2": "sq nmi", "sqnmi": "sq nmi",
	"m3": "m³", "km3": "km³", "cm3": "cm³", "cuft": "cu ft", "ft3": "cu ft", "cuyd": "cu yd", "yd3": "cu yd", "cumi": "cu mi", "mi3": "cu mi", "cuin": "cu in", "in3": "cu in", "cc": "cc",
	"C": "°C", "F": "°F", "K": "K", "C-change": "°C", "F-change": "°F", "K-change": "K", "°C": "°C", "°F": "°F",
	"impgal": "imp gal", "USgal": "US gal", "usgal": "US gal", "U.S.gal": "US gal", "USdrygal": "US dry gal", "impoz": "imp fl oz", "impfloz": "imp fl oz", "USoz": "US fl oz", "USfloz": "US fl oz", "usfloz": "US fl oz", "USpt": "US pt", "imppt": "imp pt", "USqt": "US qt", "impqt": "imp qt", "oilbbl": "barrels", "bbl": "barrels", "USbsh": "US bushels",
	"acre": "acres", "ha": "ha", "acre.ft": "acre-feet", "acre·ft": "acre-feet", "acre-foot": "acre-feet",
	"foot": "foot", "feet": "feet", "mile": "miles", "miles": "miles", "inch": "inch", "inches": "inches", "meter": "metres", "metre": "metres", "kilometer": "kilometres",
	"ST": "short tons", "LT": "long tons", "MT": "t", "t": "t", "tonne": "tonnes", "ton": "tons", "shton": "short tons", "lnton": "long tons", "long ton": "long tons", "short ton": "short tons", "lbs": "lb", "stlb": "st", "ozt": "ozt",
	"mph": "mph", "kph": "km/h", "kmh": "km/h", "km/h": "km/h", "kn": "kn", "m/s": "m/s", "ft/s": "ft/s", "knot": "knots", "knots": "knots",
	"hp": "hp", "bhp": "bhp", "shp": "shp", "ihp": "ihp", "PS": "PS", "kW": "kW", "MW": "MW", "lbf": "lbf", "kN": "kN", "lbft": "lb⋅ft", "lb.ft": "lb⋅ft", "lb·ft": "lb⋅ft", "lbf.ft": "lbf⋅ft", "Nm": "N⋅m", "N.m": "N⋅m", "N·m": "N⋅m",
	"psi": "psi", "lb/in2": "psi", "inHg": "inHg", "hPa": "hPa", "mbar": "mbar", "Torr": "Torr",
	"g/cm3": "g/cm³", "g/cc": "g/cm³", "kg/m3": "kg/m³", "lb/cuft": "lb/cu ft", "m3/s": "m³/s", "cuft/s": "cu ft/s", "cuft/min": "cu ft/min", "PD/km2": "inhabitants per square kilometre", "/km2": "/km²", "PD/sqmi": "inhabitants per square mile", "/sqmi": "/sq mi", "/ha": "/ha",
	"mpgus": "mpg", "mpgimp": "mpg", "mpgUS": "mpg", "kgCO2/L": "kg(CO₂)/L", "L/100km": "L/100 km", "lb-ft": "lb⋅ft", "deg": "°", "degC": "°C", "degF": "°F", "um": "μm", "µm": "μm", "μm": "μm", "angstrom": "Å", "Å": "Å", "ly": "light-years", "AU": "AU", "pc": "parsecs", "Mly": "million light-years", "foot/inch": "ft", "hand": "hands", "chain": "chains", "furlong": "furlongs", "fathom": "fathoms", "league": "leagues", "rod": "rods", "kcal": "kcal", "Cal": "kcal", "kJ": "kJ", "MJ": "MJ", "BTU": "BTU", "W.h": "W⋅h", "kWh": "kWh", "MeV": "MeV", "eV": "eV",
}
