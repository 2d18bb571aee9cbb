package wikitext

// languageNames are the English names of languages, as {{langx}} shows them,
// by their codes (ISO 639).
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

// languageCode maps the end of a name {{lang-xx}} to the code, as a string
// that need not be made anew.
var languageCode = buildLanguageCode()

func buildLanguageCode() map[string]string {
	m := make(map[string]string, len(languageNames))
	for code := range languageNames {
		m[code] = code
	}
	return m
}

// countryNames are what {{flag}} shows for the usual codes (ISO 3166, IOC).
var countryNames = map[string]string{
	"AFG": "Afghanistan", "ALB": "Albania", "ALG": "Algeria", "ARG": "Argentina", "ARM": "Armenia", "AUS": "Australia", "AUT": "Austria", "AZE": "Azerbaijan", "BAN": "Bangladesh", "BEL": "Belgium", "BIH": "Bosnia and Herzegovina", "BLR": "Belarus", "BRA": "Brazil", "BUL": "Bulgaria", "CAN": "Canada", "CHI": "Chile", "CHN": "China", "COL": "Colombia", "CRO": "Croatia", "CUB": "Cuba", "CYP": "Cyprus", "CZE": "Czech Republic", "DEN": "Denmark", "DNK": "Denmark", "DEU": "Germany", "ECU": "Ecuador", "EGY": "Egypt", "ENG": "England", "ESP": "Spain", "EST": "Estonia", "ETH": "Ethiopia", "EU": "European Union", "FIN": "Finland", "FRA": "France", "GBR": "United Kingdom", "GEO": "Georgia", "GER": "Germany", "GHA": "Ghana", "GRE": "Greece", "GRC": "Greece", "HKG": "Hong Kong", "HRV": "Croatia", "HUN": "Hungary", "IDN": "Indonesia", "INA": "Indonesia", "IND": "India", "IRI": "Iran", "IRN": "Iran", "IRL": "Ireland", "IRQ": "Iraq", "ISL": "Iceland", "ISR": "Israel", "ITA": "Italy", "JAM": "Jamaica", "JOR": "Jordan", "JPN": "Japan", "KAZ": "Kazakhstan", "KEN": "Kenya", "KOR": "South Korea", "KSA": "Saudi Arabia", "KUW": "Kuwait", "LAT": "Latvia", "LTU": "Lithuania", "LUX": "Luxembourg", "MAR": "Morocco", "MAS": "Malaysia", "MDA": "Moldova", "MEX": "Mexico", "MKD": "North Macedonia", "MNE": "Montenegro", "MYS": "Malaysia", "NED": "Netherlands", "NLD": "Netherlands", "NGA": "Nigeria", "NIR": "Northern Ireland", "NOR": "Norway", "NZ": "New Zealand", "NZL": "New Zealand", "PAK": "Pakistan", "PER": "Peru", "PHI": "Philippines", "PHL": "Philippines", "POL": "Poland", "POR": "Portugal", "PRT": "Portugal", "PRC": "China", "PRK": "North Korea", "QAT": "Qatar", "ROC": "Taiwan", "ROU": "Romania", "RSA": "South Africa", "RUS": "Russia", "SAU": "Saudi Arabia", "SCO": "Scotland", "SIN": "Singapore", "SGP": "Singapore", "SLO": "Slovenia", "SVN": "Slovenia", "SRB": "Serbia", "SUI": "Switzerland", "CHE": "Switzerland", "SVK": "Slovakia", "SWE": "Sweden", "SYR": "Syria", "THA": "Thailand", "TUN": "Tunisia", "TUR": "Turkey", "TWN": "Taiwan", "UAE": "United Arab Emirates", "UK": "United Kingdom", "UKR": "Ukraine", "URU": "Uruguay", "US": "United States", "USA": "United States", "URS": "Soviet Union", "USSR": "Soviet Union", "UZB": "Uzbekistan", "VEN": "Venezuela", "VIE": "Vietnam", "VNM": "Vietnam", "WAL": "Wales", "YUG": "Yugoslavia", "ZAF": "South Africa", "ZIM": "Zimbabwe",
}
