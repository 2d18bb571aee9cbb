package wikitext

import "strings"

// A measure is a unit of {{convert}} that can be converted. Values are from the
// definitions of the units (SI, international yard and pound, imperial and US
// gallon).
type measure struct {
	name   string // English singular name, as in the rendering data
	kind   quantityKind
	scale  float64 // the unit in base units of its kind
	offset float64 // zero point of the scale in base units; only for temperatures
	to     string  // code of the unit to convert to by default
	symbol bool    // the symbol is always shown, never the name
	one    string  // name of the singular in the rendering data
}

// A quantityKind is what a unit measures. Only units of one kind can be
// converted to each other.
type quantityKind uint8

// The kinds, with their base units.
const (
	kindLength      quantityKind = iota + 1 // metre
	kindArea                                // square metre
	kindVolume                              // cubic metre
	kindMass                                // kilogram
	kindSpeed                               // metre per second
	kindTemperature                         // kelvin
	kindDifference                          // kelvin
	kindPower                               // watt
	kindPressure                            // pascal
	kindEnergy                              // joule
	kindForce                               // newton
	kindTorque                              // newton-metre
	kindPerArea                             // per square metre
	kindVolumeFlow                          // cubic metre per second
	kindDensity                             // kilogram per cubic metre
)

// Definitions from which other scales follow.
const (
	inch      = 0.0254
	foot      = 12 * inch
	yard      = 3 * foot
	mile      = 1760 * yard
	pound     = 0.45359237
	gravity   = 9.80665
	gallonUS  = 231 * inch * inch * inch
	gallonImp = 4.54609e-3
	acre      = 4840 * yard * yard
	lightYear = 9.4607304725808e15
)

// measures maps the codes of {{convert}} to units.
var measures = buildMeasures([]struct {
	codes string
	measure
}{
	{"km kilometre kilometres kilometer kilometers", measure{"kilometre", kindLength, 1e3, 0, "mi", false, ""}},
	{"m metre metres meter meters", measure{"metre", kindLength, 1, 0, "ftin", false, ""}},
	{"cm centimetre centimeter", measure{"centimetre", kindLength, 1e-2, 0, "in", false, ""}},
	{"mm millimetre millimeter", measure{"millimetre", kindLength, 1e-3, 0, "in", false, ""}},
	{"um µm μm", measure{"micrometre", kindLength, 1e-6, 0, "in", false, ""}},
	{"nm", measure{"nanometre", kindLength, 1e-9, 0, "in", false, ""}},
	{"mi mile miles", measure{"mile", kindLength, mile, 0, "km", false, ""}},
	{"yd yard yards", measure{"yard", kindLength, yard, 0, "m", false, ""}},
	{"ft foot feet", measure{"foot", kindLength, foot, 0, "m", false, ""}},
	{"in inch inches", measure{"inch", kindLength, inch, 0, "mm", false, ""}},
	{"nmi", measure{"nautical mile", kindLength, 1852, 0, "km mi", false, ""}},
	{"fathom", measure{"fathom", kindLength, 2 * yard, 0, "ft m", false, ""}},
	{"furlong", measure{"furlong", kindLength, 220 * yard, 0, "ft m", false, ""}},
	{"chain", measure{"chain", kindLength, 22 * yard, 0, "ft m", false, ""}},
	{"hand", measure{"hand", kindLength, 4 * inch, 0, "in cm", false, ""}},
	{"league", measure{"league", kindLength, 3 * mile, 0, "km", false, ""}},
	{"ly", measure{"light-year", kindLength, lightYear, 0, "AU", false, ""}},
	{"AU", measure{"astronomical unit", kindLength, 149597870700, 0, "km mi", false, ""}},
	{"pc", measure{"parsec", kindLength, 3.0856775814671916e16, 0, "ly", false, ""}},

	{"km2 sqkm", measure{"square kilometre", kindArea, 1e6, 0, "sqmi", false, ""}},
	{"m2 sqm", measure{"square metre", kindArea, 1, 0, "sqft", false, ""}},
	{"cm2", measure{"square centimetre", kindArea, 1e-4, 0, "sqin", false, ""}},
	{"mm2", measure{"square millimetre", kindArea, 1e-6, 0, "sqin", false, ""}},
	{"ha", measure{"hectare", kindArea, 1e4, 0, "acre", false, ""}},
	{"acre acres", measure{"acre", kindArea, acre, 0, "ha", false, ""}},
	{"sqmi mi2", measure{"square mile", kindArea, mile * mile, 0, "km2", false, ""}},
	{"sqyd yd2", measure{"square yard", kindArea, yard * yard, 0, "m2", false, ""}},
	{"sqft ft2", measure{"square foot", kindArea, foot * foot, 0, "m2", false, ""}},
	{"sqin in2", measure{"square inch", kindArea, inch * inch, 0, "cm2", false, ""}},

	{"m3", measure{"cubic metre", kindVolume, 1, 0, "cuft", false, ""}},
	{"km3", measure{"cubic kilometre", kindVolume, 1e9, 0, "cumi", false, ""}},
	{"cm3 cc", measure{"cubic centimetre", kindVolume, 1e-6, 0, "cuin", false, ""}},
	{"L l litre liter", measure{"litre", kindVolume, 1e-3, 0, "impgal USgal", false, ""}},
	{"ml mL", measure{"millilitre", kindVolume, 1e-6, 0, "impfloz USfloz", false, ""}},
	{"cuft ft3", measure{"cubic foot", kindVolume, foot * foot * foot, 0, "m3", false, ""}},
	{"cuin in3", measure{"cubic inch", kindVolume, inch * inch * inch, 0, "cm3", false, ""}},
	{"cuyd yd3", measure{"cubic yard", kindVolume, yard * yard * yard, 0, "m3", false, ""}},
	{"cumi mi3", measure{"cubic mile", kindVolume, mile * mile * mile, 0, "km3", false, ""}},
	{"USgal usgal U.S.gal", measure{"US gallon", kindVolume, gallonUS, 0, "L impgal", false, ""}},
	{"impgal", measure{"imperial gallon", kindVolume, gallonImp, 0, "L USgal", false, ""}},
	{"USfloz USoz usfloz", measure{"US fluid ounce", kindVolume, gallonUS / 128, 0, "ml", false, ""}},
	{"impfloz impoz", measure{"imperial fluid ounce", kindVolume, gallonImp / 160, 0, "ml", false, ""}},
	{"acre.ft acre·ft acre-foot", measure{"acre-foot", kindVolume, acre * foot, 0, "m3", false, ""}},
	{"oilbbl bbl", measure{"barrel", kindVolume, 42 * gallonUS, 0, "m3", false, ""}},

	{"kg kilogram", measure{"kilogram", kindMass, 1, 0, "lb", false, ""}},
	{"g gram", measure{"gram", kindMass, 1e-3, 0, "oz", false, ""}},
	{"mg", measure{"milligram", kindMass, 1e-6, 0, "gr", false, ""}},
	{"t tonne MT", measure{"tonne", kindMass, 1e3, 0, "LT ST", false, ""}},
	{"lb lbs", measure{"pound", kindMass, pound, 0, "kg", false, ""}},
	{"oz", measure{"ounce", kindMass, pound / 16, 0, "g", false, ""}},
	{"st", measure{"stone", kindMass, 14 * pound, 0, "lb kg", false, ""}},
	{"LT lnton", measure{"long ton", kindMass, 2240 * pound, 0, "t", false, ""}},
	{"ST shton", measure{"short ton", kindMass, 2000 * pound, 0, "t", false, ""}},
	{"gr", measure{"grain", kindMass, pound / 7000, 0, "g", false, ""}},
	{"ozt", measure{"troy ounce", kindMass, 480 * pound / 7000, 0, "oz g", false, ""}},
	{"carat", measure{"carat", kindMass, 2e-4, 0, "g", false, ""}},

	{"km/h kph kmh", measure{"kilometre per hour", kindSpeed, 1 / 3.6, 0, "mph", false, ""}},
	{"mph", measure{"mile per hour", kindSpeed, mile / 3600, 0, "km/h", false, ""}},
	{"m/s", measure{"metre per second", kindSpeed, 1, 0, "ft/s", false, ""}},
	{"ft/s", measure{"foot per second", kindSpeed, foot, 0, "m/s", false, ""}},
	{"kn knot knots", measure{"knot", kindSpeed, 1852.0 / 3600, 0, "km/h mph", false, ""}},

	{"C °C degC", measure{"degree Celsius", kindTemperature, 1, -273.15, "F", true, ""}},
	{"F °F degF", measure{"degree Fahrenheit", kindTemperature, 5.0 / 9, 32 - 273.15*9/5, "C", true, ""}},
	{"K", measure{"kelvin", kindTemperature, 1, 0, "C F", true, ""}},
	{"C-change", measure{"degree Celsius", kindDifference, 1, 0, "F-change", true, ""}},
	{"F-change", measure{"degree Fahrenheit", kindDifference, 5.0 / 9, 0, "C-change", true, ""}},
	{"K-change", measure{"kelvin", kindDifference, 1, 0, "F-change", true, ""}},

	{"hp", measure{"horsepower", kindPower, 550 * pound * gravity * foot, 0, "kW", false, ""}},
	{"PS", measure{"metric horsepower", kindPower, 75 * gravity, 0, "kW", false, ""}},
	{"kW", measure{"kilowatt", kindPower, 1e3, 0, "hp", false, ""}},
	{"MW", measure{"megawatt", kindPower, 1e6, 0, "hp", false, ""}},
	{"W", measure{"watt", kindPower, 1, 0, "hp", false, ""}},

	{"psi", measure{"pound per square inch", kindPressure, pound * gravity / (inch * inch), 0, "kPa", false, ""}},
	{"kPa", measure{"kilopascal", kindPressure, 1e3, 0, "psi", false, ""}},
	{"hPa", measure{"hectopascal", kindPressure, 100, 0, "inHg", false, ""}},
	{"MPa", measure{"megapascal", kindPressure, 1e6, 0, "ksi", false, ""}},
	{"mbar", measure{"millibar", kindPressure, 100, 0, "inHg", false, ""}},
	{"bar", measure{"bar", kindPressure, 1e5, 0, "kPa", false, ""}},
	{"atm", measure{"standard atmosphere", kindPressure, 101325, 0, "kPa", false, ""}},
	{"inHg", measure{"inch of mercury", kindPressure, 3386.388640341, 0, "kPa", false, ""}},

	{"kJ", measure{"kilojoule", kindEnergy, 1e3, 0, "kcal", false, ""}},
	{"MJ", measure{"megajoule", kindEnergy, 1e6, 0, "kWh", false, ""}},
	{"kcal", measure{"kilocalorie", kindEnergy, 4184, 0, "kJ", false, ""}},
	{"kWh kW.h", measure{"kilowatt-hour", kindEnergy, 3.6e6, 0, "MJ", false, ""}},

	{"N", measure{"newton", kindForce, 1, 0, "lbf", false, ""}},
	{"kN", measure{"kilonewton", kindForce, 1e3, 0, "lbf", false, ""}},
	{"lbf", measure{"pound-force", kindForce, pound * gravity, 0, "N", false, ""}},
	{"Nm N.m N·m", measure{"newton-metre", kindTorque, 1, 0, "lbft", false, ""}},
	{"lbft lb.ft lb·ft lbf.ft lb-ft", measure{"pound-foot", kindTorque, pound * gravity * foot, 0, "Nm", false, ""}},

	{"PD/km2 /km2", measure{"inhabitant per square kilometre", kindPerArea, 1e-6, 0, "PD/sqmi", false, ""}},
	{"PD/sqmi /sqmi", measure{"inhabitant per square mile", kindPerArea, 1 / (mile * mile), 0, "PD/km2", false, ""}},
	{"m3/s", measure{"cubic metre per second", kindVolumeFlow, 1, 0, "cuft/s", false, ""}},
	{"cuft/s", measure{"cubic foot per second", kindVolumeFlow, foot * foot * foot, 0, "m3/s", false, ""}},
	{"kg/m3", measure{"kilogram per cubic metre", kindDensity, 1, 0, "lb/cuyd", false, ""}},
	{"g/cm3 g/cc", measure{"gram per cubic centimetre", kindDensity, 1e3, 0, "lb/cuin", false, ""}},
	{"lb/cuft", measure{"pound per cubic foot", kindDensity, pound / (foot * foot * foot), 0, "g/cm3", false, ""}},
	{"lb/cuin", measure{"pound per cubic inch", kindDensity, pound / (inch * inch * inch), 0, "g/cm3", false, ""}},

	// Less common units.
	{"mmHg", measure{"millimetre of mercury", kindPressure, 133.322387415, 0, "kPa", false, ""}},
	{"Torr torr", measure{"torr", kindPressure, 101325.0 / 760, 0, "kPa", false, ""}},
	{"Pa", measure{"pascal", kindPressure, 1, 0, "psi", false, ""}},
	{"GPa", measure{"gigapascal", kindPressure, 1e9, 0, "psi", false, ""}},
	{"ksi", measure{"kilopound per square inch", kindPressure, 1000 * pound * gravity / (inch * inch), 0, "MPa", false, ""}},
	{"USqt", measure{"US quart", kindVolume, gallonUS / 4, 0, "L", false, ""}},
	{"USpt", measure{"US pint", kindVolume, gallonUS / 8, 0, "L", false, ""}},
	{"impqt", measure{"imperial quart", kindVolume, gallonImp / 4, 0, "L", false, ""}},
	{"imppt", measure{"imperial pint", kindVolume, gallonImp / 8, 0, "L", false, ""}},
	{"cl cL", measure{"centilitre", kindVolume, 1e-5, 0, "impfloz USfloz", false, ""}},
	{"dl dL", measure{"decilitre", kindVolume, 1e-4, 0, "impfloz USfloz", false, ""}},
	{"hl hL", measure{"hectolitre", kindVolume, 0.1, 0, "impgal USgal", false, ""}},
	{"dm", measure{"decimetre", kindLength, 0.1, 0, "in", false, ""}},
	{"Mm", measure{"megametre", kindLength, 1e6, 0, "mi", false, ""}},
	{"smi", measure{"statute mile", kindLength, mile, 0, "km", false, ""}},
	{"rod", measure{"rod", kindLength, 5.5 * yard, 0, "ft m", false, ""}},
	{"kt", measure{"kilotonne", kindMass, 1e6, 0, "LT ST", false, ""}},
	{"Mt", measure{"megatonne", kindMass, 1e9, 0, "LT ST", false, ""}},
	{"bhp", measure{"brake horsepower", kindPower, 550 * pound * gravity * foot, 0, "kW", false, ""}},
	{"GW", measure{"gigawatt", kindPower, 1e9, 0, "hp", false, ""}},
	{"J", measure{"joule", kindEnergy, 1, 0, "cal", false, ""}},
	{"cal", measure{"calorie", kindEnergy, 4.184, 0, "J", false, ""}},
	{"GJ", measure{"gigajoule", kindEnergy, 1e9, 0, "kWh", false, ""}},
	{"BTU btu", measure{"British thermal unit", kindEnergy, 1055.05585262, 0, "kJ", false, ""}},
	{"MWh", measure{"megawatt-hour", kindEnergy, 3.6e9, 0, "GJ", false, ""}},
	{"GWh", measure{"gigawatt-hour", kindEnergy, 3.6e12, 0, "TJ", false, ""}},
	{"TJ", measure{"terajoule", kindEnergy, 1e12, 0, "GWh", false, ""}},
	{"kgf", measure{"kilogram-force", kindForce, gravity, 0, "N lbf", false, ""}},
	{"MN", measure{"meganewton", kindForce, 1e6, 0, "lbf", false, ""}},
	{"lb/cuyd", measure{"pound per cubic yard", kindDensity, pound / (yard * yard * yard), 0, "kg/m3", false, ""}},
	{"ft/min", measure{"foot per minute", kindSpeed, foot / 60, 0, "m/min", false, ""}},
	{"m/min", measure{"metre per minute", kindSpeed, 1.0 / 60, 0, "ft/min", false, ""}},
	{"km/s", measure{"kilometre per second", kindSpeed, 1e3, 0, "mi/s", false, ""}},
	{"mi/s", measure{"mile per second", kindSpeed, mile, 0, "km/s", false, ""}},
	{"L/s l/s", measure{"litre per second", kindVolumeFlow, 1e-3, 0, "cuft/s", false, ""}},
	{"USgal/min", measure{"US gallon per minute", kindVolumeFlow, gallonUS / 60, 0, "m3/s", false, ""}},
	{"dunam", measure{"dunam", kindArea, 1e3, 0, "", false, ""}},
})

func buildMeasures(list []struct {
	codes string
	measure
}) map[string]*measure {
	m := map[string]*measure{}
	for k := range list {
		for code := range strings.FieldsSeq(list[k].codes) {
			m[code] = &list[k].measure
			m[code].one = list[k].name + " one"
		}
	}
	return m
}

// moreThanInteger is the target unit that may get more digits if the value is an
// integer (integer_more_precision in Module:Convert).
const moreThanInteger = "pound"
