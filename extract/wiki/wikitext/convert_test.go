package wikitext

import "testing"

// What Module:Convert shows on the English Wikipedia, by its documentation: units
// in full, the converted value with its symbol, as precise as the input.
func TestConvertShowsWhatTheModuleShows(t *testing.T) {
	for source, want := range map[string]string{
		"2|km|mi": "2 kilometres (1.2 mi)", "7|mi|km": "7 miles (11 km)", "7.1|mi|km": "7.1 miles (11.4 km)", "7.0|mi|km": "7.0 miles (11.3 km)", "29|mi": "29 miles (47 km)",
		"2|km|mi|2|abbr=on": "2 km (1.24 mi)", "2|to|5|km|mi": "2 to 5 kilometres (1.2 to 3.1 mi)", "2|-|5|km|mi": "2–5 kilometres (1.2–3.1 mi)", "2|-|5|km|mi|2|abbr=on": "2–5 km (1.24–3.11 mi)",
		"2|and|5|km|mi|sigfig=3|abbr=off": "2 and 5 kilometres (1.24 and 3.11 miles)", "1|lb|kg": "1 pound (0.45 kg)", "1|lb|kg|abbr=in": "1 lb (0.45 kilograms)", "1|lb|kg|abbr=off": "1 pound (0.45 kilograms)",
		"1234|ft|m|-1": "1,234 feet (380 m)", "1234|ft|m|sigfig=3": "1,234 feet (376 m)", "100|ft|m|1": "100 feet (30.5 m)", "10|mi|km|round=5": "10 miles (15 km)", "12345.678|km": "12,345.678 kilometres (7,671.249 mi)",
		// Ranges and joined values.
		"60|and|170|kg|lb": "60 and 170 kilograms (130 and 370 lb)", "60|to(-)|170|kg|lb": "60 to 170 kilograms (130–370 lb)", "6|by|12|m": "6 by 12 metres (20 by 39 ft)", "6|x|12|m": "6 by 12 metres (20 ft × 39 ft)",
		"6|x|12|m|abbr=on": "6 m × 12 m (20 ft × 39 ft)", "5|or|6|ft": "5 or 6 feet (1.5 or 1.8 m)", "10|+/-|1|km": "10 ± 1 kilometres (6.21 ± 0.62 mi)", "90|to|100|F|C": "90 to 100 °F (32 to 38 °C)",
		// Adjectives, places of the converted value, US spelling, links.
		"10|mi|km|adj=on": "10-mile (16 km)", "9|in|cm|adj=on|abbr=on": "9 in (23 cm)", "6|ft|7|in|adj=on": "6-foot-7-inch (2.01 m)", "80|km/h|adj=on": "80-kilometre-per-hour (50 mph)", "10|ft|m|adj=mid|-long": "10-foot-long (3.0 m)", "10|ft|m|adj=mid|long": "10-foot long (3.0 m)",
		"500|m|ft|disp=or": "500 metres or 1,600 feet", "500|m|ft|disp=comma": "500 metres, 1,600 ft", "500|m|ft|disp=sqbr": "500 metres [1,600 ft]", "500|m|ft|disp=out": "1,600 ft", "500|m|ft|disp=number": "1,600", "500|m|ft|disp=unit": "metres",
		"500|m|ft|disp=unit2": "ft", "500|m|ft|disp=br": "500 metres 1,600 ft", "500|m|ft|disp=x| or about |, or so": "500 metres or about 1,600 ft, or so", "500|m|ft|disp=semicolon": "500 metres; 1,600 ft",
		"500|m|ft|order=flip": "1,600 feet (500 m)", "500|m|sp=us": "500 meters (1,600 ft)", "500|m|ft|lk=on": "500 metres (1,600 ft)", "100|km|mi nmi": "100 kilometres (62 mi; 54 nmi)",
		// Feet and inches, fractions, signs, temperatures.
		"5|ft|11|in": "5 feet 11 inches (1.80 m)", "6|ft|5|in|m": "6 feet 5 inches (1.96 m)", "7|lb|8|oz": "7 pounds 8 ounces (3.4 kg)", "11|st|4|lb": "11 stone 4 pounds (72 kg)", "1.75|m": "1.75 metres (5 ft 9 in)", "1.83|m": "1.83 metres (6 ft 0 in)", "182|cm|ftin": "182 centimetres (6 ft 0 in)",
		"-1.5|m": "−1.5 metres (−4 ft 11 in)", "-5|m": "−5 metres (−16 ft)", "1/2|in|mm": "1/2 inch (13 mm)", "1+1/2|in|mm": "1 1/2 inches (38 mm)", "4|ft|8+1/2|in|mm|0|abbr=on": "4 ft 8 1/2 in (1,435 mm)",
		"137|mm|in|frac=8": "137 millimetres (5 3/8 in)", "300|mm|in|frac=4": "300 millimetres (11 3/4 in)", "51|mm|in|frac=2": "51 millimetres (2 in)", "1.82|m|ftin|frac=2": "1.82 metres (5 ft 11 1/2 in)",
		"10|C": "10 °C (50 °F)", "-40|C": "−40 °C (−40 °F)", "37|C-change": "37 °C (67 °F)",
		"5|mi|spell=in": "five miles (8.0 km)", "21|mi|spell=In": "Twenty-one miles (34 km)", "105|km|spell=in": "one hundred and five kilometres (65 mi)", "105|km|spell=in|sp=us": "one hundred five kilometers (65 mi)", "1|to|2|mi|spell=in": "one to two miles (1.6 to 3.2 km)",
		"12|mi|km|spell=on": "twelve miles (nineteen kilometres)", "5|e6acre|ha|spell=in": "five million acres (2,000,000 ha)", "1.5|mi|spell=in": "1.5 miles (2.4 km)",
		// Other units; powers have plain digits.
		"1|sqmi": "1 square mile (2.6 km2)", "300|km2": "300 square kilometres (120 sq mi)", "50|sqft": "50 square feet (4.6 m2)", "100|ha": "100 hectares (250 acres)", "2|acre": "2 acres (0.81 ha)", "2|e6acre": "2 million acres (810,000 ha)",
		"20|nmi": "20 nautical miles (37 km; 23 mi)", "3|fathom": "3 fathoms (18 ft; 5.5 m)", "15.2|hand": "15.2 hands (61 in; 154 cm)", "1|ft": "1 foot (0.30 m)", "100|yd": "100 yards (91 m)", "10|cm": "10 centimetres (3.9 in)",
		"5|oz": "5 ounces (140 g)", "3|t": "3 tonnes (3.0 long tons; 3.3 short tons)", "10|ST": "10 short tons (9.1 t)", "8|st": "8 stone (110 lb; 51 kg)", "3|USgal": "3 US gallons (11 L; 2.5 imp gal)", "15|USqt": "15 US quarts (14 L)",
		"1|m3": "1 cubic metre (35 cu ft)", "2000|cc": "2,000 cubic centimetres (120 cu in)", "1000|bbl": "1,000 barrels (160 m3)", "300|ml": "300 millilitres (11 imp fl oz; 10 US fl oz)", "500|m3/s": "500 cubic metres per second (18,000 cu ft/s)",
		"50|mph": "50 miles per hour (80 km/h)", "20|kn": "20 knots (37 km/h; 23 mph)", "10|m/s": "10 metres per second (33 ft/s)", "30|km/s": "30 kilometres per second (19 mi/s)", "150|hp": "150 horsepower (110 kW)", "150|bhp": "150 brake horsepower (110 kW)",
		"200|psi": "200 pounds per square inch (1,400 kPa)", "760|mmHg": "760 millimetres of mercury (101 kPa)", "15|MPa": "15 megapascals (2.2 ksi)", "12|lbft": "12 pound force-feet (16 N⋅m)", "250|kcal": "250 kilocalories (1,000 kJ)", "2|kWh": "2 kilowatt-hours (7.2 MJ)",
		"100|PD/sqmi": "100 inhabitants per square mile (39/km2)", "3000|/km2": "3,000 inhabitants per square kilometre (7,800/sq mi)", "1|ly": "1 light-year (63,000 AU)",
	} {
		text := string(NewScanner(DefaultOptions()).AppendText(nil, []byte("{{convert|"+source+"}}"), Page{Lang: "en"}))
		if text != want {
			t.Errorf("{{convert|%s}}: %q, want %q", source, text, want)
		}
	}
}
