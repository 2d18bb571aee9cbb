package wikitext

// languageNames are the English names of languages, as {{langx}} shows them, by
// language code (ISO 639).
var languageNames = map[string]string{
	"ab": "Abkhaz", "ady": "Adyghe", "af": "Afrikaans", "akk": "Akkadian", "am": "Amharic", "an": "Aragonese", "ang": "Old English", "ar": "Arabic", "arc": "Imperial Aramaic", "arz": "Egyptian Arabic", "as": "Assamese", "ast": "Asturian", "av": "Avar", "ay": "Aymara", "az": "Azerbaijani",
	"ba": "Bashkir", "bar": "Bavarian", "be": "Belarusian", "ber": "Berber", "bg": "Bulgarian", "bn": "Bengali", "bo": "Tibetan", "br": "Breton", "bs": "Bosnian",
	"ca": "Catalan", "ce": "Chechen", "ceb": "Cebuano", "chr": "Cherokee", "ckb": "Central Kurdish", "co": "Corsican", "cop": "Coptic", "crh": "Crimean Tatar", "cs": "Czech", "csb": "Kashubian", "cu": "Church Slavonic", "cv": "Chuvash", "cy": "Welsh",
	"da": "Danish", "de": "German", "dsb": "Lower Sorbian", "dv": "Dhivehi", "dz": "Dzongkha", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
	"fa": "Persian", "fi": "Finnish", "fil": "Filipino", "fo": "Faroese", "fr": "French", "fro": "Old French", "frr": "North Frisian", "fy": "West Frisian", "ga": "Irish", "gd": "Scottish Gaelic", "gez": "Geez", "gl": "Galician", "gn": "Guarani", "goh": "Old High German", "got": "Gothic", "grc": "Ancient Greek", "gsw": "Swiss German", "gu": "Gujarati", "gv": "Manx",
	"ha": "Hausa", "haw": "Hawaiian", "he": "Hebrew", "hi": "Hindi", "hit": "Hittite", "hr": "Croatian", "hsb": "Upper Sorbian", "ht": "Haitian Creole", "hu": "Hungarian", "hy": "Armenian", "ia": "Interlingua", "id": "Indonesian", "ig": "Igbo", "io": "Ido", "is": "Icelandic", "it": "Italian", "iu": "Inuktitut",
	"ja": "Japanese", "jv": "Javanese", "ka": "Georgian", "kab": "Kabyle", "kbd": "Kabardian", "kk": "Kazakh", "kl": "Greenlandic", "km": "Khmer", "kn": "Kannada", "ko": "Korean", "krc": "Karachay-Balkar", "ks": "Kashmiri", "ksh": "Ripuarian", "ku": "Kurdish", "kw": "Cornish", "ky": "Kyrgyz",
	"la": "Latin", "lad": "Judaeo-Spanish", "lb": "Luxembourgish", "li": "Limburgish", "lij": "Ligurian", "ln": "Lingala", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mg": "Malagasy", "mi": "Māori", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese",
	"nah": "Nahuatl", "nap": "Neapolitan", "nb": "Norwegian Bokmål", "nds": "Low German", "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "non": "Old Norse", "nv": "Navajo", "oc": "Occitan", "om": "Oromo", "or": "Odia", "os": "Ossetian", "ota": "Ottoman Turkish",
	"pa": "Punjabi", "pal": "Middle Persian", "peo": "Old Persian", "pi": "Pali", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese", "qu": "Quechua", "rm": "Romansh", "ro": "Romanian", "ru": "Russian", "rus": "Russian", "rw": "Kinyarwanda", "sa": "Sanskrit", "sah": "Yakut", "sc": "Sardinian", "scn": "Sicilian", "sco": "Scots", "sd": "Sindhi", "se": "Northern Sami", "sh": "Serbo-Croatian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovene", "sm": "Samoan", "so": "Somali", "sq": "Albanian", "sr": "Serbian", "su": "Sundanese", "sv": "Swedish", "sw": "Swahili", "syc": "Classical Syriac", "syr": "Syriac", "szl": "Silesian",
	"ta": "Tamil", "te": "Telugu", "tg": "Tajik", "th": "Thai", "ti": "Tigrinya", "tk": "Turkmen", "tl": "Tagalog", "to": "Tongan", "tr": "Turkish", "tt": "Tatar", "udm": "Udmurt", "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vec": "Venetian", "vi": "Vietnamese", "wa": "Walloon", "wo": "Wolof", "xh": "Xhosa", "yi": "Yiddish", "yo": "Yoruba", "yue": "Cantonese", "zh": "Chinese", "zu": "Zulu",
}

// languageCode maps each code in languageNames to itself. A look-up with the
// bytes xx of {{lang-xx}} returns the code as a string without an allocation.
var languageCode = buildLanguageCode()

func buildLanguageCode() map[string]string {
	m := make(map[string]string, len(languageNames))
	for code := range languageNames {
		m[code] = code
	}
	return m
}

// countryNames are the names that {{flag}} shows, by country code (ISO 3166 or
// IOC).
var countryNames = map[string]string{
	"ABW": "Aruba", "AFG": "Afghanistan", "AGO": "Angola", "AIA": "Anguilla", "ALB": "Albania", "ALG": "Algeria", "AND": "Andorra", "ANG": "Angola", "ANT": "Antigua and Barbuda", "ARG": "Argentina",
	"ARM": "Armenia", "ARU": "Aruba", "ASA": "American Samoa", "ASM": "American Samoa", "ATG": "Antigua and Barbuda", "AUS": "Australia", "AUT": "Austria", "AZE": "Azerbaijan", "BAH": "Bahamas",
	"BAN": "Bangladesh", "BAR": "Barbados", "BDI": "Burundi", "BEL": "Belgium", "BEN": "Benin", "BER": "Bermuda", "BFA": "Burkina Faso", "BGD": "Bangladesh", "BGR": "Bulgaria", "BHR": "Bahrain",
	"BHS": "Bahamas", "BHU": "Bhutan", "BIH": "Bosnia and Herzegovina", "BIZ": "Belize", "BLR": "Belarus", "BLZ": "Belize", "BMU": "Bermuda", "BOL": "Bolivia", "BOT": "Botswana", "BRA": "Brazil",
	"BRB": "Barbados", "BRN": "Brunei", "BRU": "Brunei", "BTN": "Bhutan", "BUL": "Bulgaria", "BUR": "Burkina Faso", "BWA": "Botswana", "CAF": "Central African Republic", "CAM": "Cambodia",
	"CAN": "Canada", "CGO": "Republic of the Congo", "CHA": "Chad", "CHE": "Switzerland", "CHI": "Chile", "CHL": "Chile", "CHN": "China", "CIV": "Ivory Coast", "CMR": "Cameroon",
	"COD": "Democratic Republic of the Congo", "COG": "Republic of the Congo", "COK": "Cook Islands", "COL": "Colombia", "COM": "Comoros", "CPV": "Cape Verde", "CRC": "Costa Rica", "CRI": "Costa Rica",
	"CRO": "Croatia", "CUB": "Cuba", "CUW": "Curaçao", "CYM": "Cayman Islands", "CYP": "Cyprus", "CZE": "Czech Republic", "DEN": "Denmark", "DEU": "Germany", "DJI": "Djibouti", "DMA": "Dominica",
	"DNK": "Denmark", "DOM": "Dominican Republic", "DZA": "Algeria", "ECU": "Ecuador", "EGY": "Egypt", "ENG": "England", "ERI": "Eritrea", "ESA": "El Salvador", "ESP": "Spain", "EST": "Estonia",
	"ETH": "Ethiopia", "EU": "European Union", "EUN": "Unified Team", "FIJ": "Fiji", "FIN": "Finland", "FJI": "Fiji", "FRA": "France", "FRG": "West Germany", "FRO": "Faroe Islands", "FSM": "Micronesia",
	"GAB": "Gabon", "GAM": "Gambia", "GBR": "United Kingdom", "GDR": "East Germany", "GEO": "Georgia", "GER": "Germany", "GHA": "Ghana", "GIB": "Gibraltar", "GIN": "Guinea", "GMB": "Gambia",
	"GNB": "Guinea-Bissau", "GNQ": "Equatorial Guinea", "GRC": "Greece", "GRD": "Grenada", "GRE": "Greece", "GRL": "Greenland", "GRN": "Grenada", "GTM": "Guatemala", "GUA": "Guatemala", "GUI": "Guinea",
	"GUM": "Guam", "GUY": "Guyana", "HAI": "Haiti", "HKG": "Hong Kong", "HND": "Honduras", "HON": "Honduras", "HRV": "Croatia", "HTI": "Haiti", "HUN": "Hungary", "IDN": "Indonesia", "INA": "Indonesia",
	"IND": "India", "IRI": "Iran", "IRL": "Ireland", "IRN": "Iran", "IRQ": "Iraq", "ISL": "Iceland", "ISR": "Israel", "ITA": "Italy", "JAM": "Jamaica", "JOR": "Jordan", "JPN": "Japan",
	"KAZ": "Kazakhstan", "KEN": "Kenya", "KGZ": "Kyrgyzstan", "KHM": "Cambodia", "KIR": "Kiribati", "KNA": "Saint Kitts and Nevis", "KOR": "South Korea", "KOS": "Kosovo", "KSA": "Saudi Arabia",
	"KUW": "Kuwait", "KWT": "Kuwait", "LAO": "Laos", "LAT": "Latvia", "LBA": "Libya", "LBN": "Lebanon", "LBR": "Liberia", "LBY": "Libya", "LCA": "Saint Lucia", "LES": "Lesotho", "LIE": "Liechtenstein",
	"LKA": "Sri Lanka", "LSO": "Lesotho", "LTU": "Lithuania", "LUX": "Luxembourg", "LVA": "Latvia", "MAC": "Macau", "MAD": "Madagascar", "MAR": "Morocco", "MAS": "Malaysia", "MAW": "Malawi",
	"MCO": "Monaco", "MDA": "Moldova", "MDG": "Madagascar", "MDV": "Maldives", "MEX": "Mexico", "MGL": "Mongolia", "MHL": "Marshall Islands", "MKD": "North Macedonia", "MLI": "Mali", "MLT": "Malta",
	"MMR": "Myanmar", "MNE": "Montenegro", "MNG": "Mongolia", "MON": "Monaco", "MOZ": "Mozambique", "MRI": "Mauritius", "MRT": "Mauritania", "MTN": "Mauritania", "MUS": "Mauritius", "MWI": "Malawi",
	"MYA": "Myanmar", "MYS": "Malaysia", "NAM": "Namibia", "NCA": "Nicaragua", "NED": "Netherlands", "NEP": "Nepal", "NER": "Niger", "NGA": "Nigeria", "NIC": "Nicaragua", "NIG": "Niger",
	"NIR": "Northern Ireland", "NLD": "Netherlands", "NOR": "Norway", "NPL": "Nepal", "NRU": "Nauru", "NZ": "New Zealand", "NZL": "New Zealand", "OMA": "Oman", "OMN": "Oman", "PAK": "Pakistan",
	"PAN": "Panama", "PAR": "Paraguay", "PER": "Peru", "PHI": "Philippines", "PHL": "Philippines", "PLE": "Palestine", "PLW": "Palau", "PNG": "Papua New Guinea", "POL": "Poland", "POR": "Portugal",
	"PRC": "China", "PRI": "Puerto Rico", "PRK": "North Korea", "PRT": "Portugal", "PRY": "Paraguay", "PSE": "Palestine", "PUR": "Puerto Rico", "QAT": "Qatar", "ROC": "Taiwan", "ROU": "Romania",
	"RSA": "South Africa", "RUS": "Russia", "RWA": "Rwanda", "SAM": "Samoa", "SAU": "Saudi Arabia", "SCG": "Serbia and Montenegro", "SCO": "Scotland", "SDN": "Sudan", "SEN": "Senegal",
	"SEY": "Seychelles", "SGP": "Singapore", "SIN": "Singapore", "SLB": "Solomon Islands", "SLE": "Sierra Leone", "SLO": "Slovenia", "SLV": "El Salvador", "SMR": "San Marino", "SOM": "Somalia",
	"SRB": "Serbia", "SRI": "Sri Lanka", "SSD": "South Sudan", "STP": "São Tomé and Príncipe", "SUD": "Sudan", "SUI": "Switzerland", "SUR": "Suriname", "SVK": "Slovakia", "SVN": "Slovenia",
	"SWE": "Sweden", "SWZ": "Eswatini", "SYC": "Seychelles", "SYR": "Syria", "TAN": "Tanzania", "TCD": "Chad", "TCH": "Czechoslovakia", "TGA": "Tonga", "TGO": "Togo", "THA": "Thailand",
	"TJK": "Tajikistan", "TKM": "Turkmenistan", "TLS": "East Timor", "TON": "Tonga", "TPE": "Chinese Taipei", "TRI": "Trinidad and Tobago", "TTO": "Trinidad and Tobago", "TUN": "Tunisia",
	"TUR": "Turkey", "TUV": "Tuvalu", "TWN": "Taiwan", "TZA": "Tanzania", "UAE": "United Arab Emirates", "UGA": "Uganda", "UK": "United Kingdom", "UKR": "Ukraine", "URS": "Soviet Union",
	"URU": "Uruguay", "URY": "Uruguay", "US": "United States", "USA": "United States", "USSR": "Soviet Union", "UZB": "Uzbekistan", "VAN": "Vanuatu", "VAT": "Vatican City",
	"VCT": "Saint Vincent and the Grenadines", "VEN": "Venezuela", "VIE": "Vietnam", "VNM": "Vietnam", "VUT": "Vanuatu", "WAL": "Wales", "WSM": "Samoa", "YEM": "Yemen", "YUG": "Yugoslavia",
	"ZAF": "South Africa", "ZAM": "Zambia", "ZIM": "Zimbabwe", "ZMB": "Zambia", "ZWE": "Zimbabwe",
}
