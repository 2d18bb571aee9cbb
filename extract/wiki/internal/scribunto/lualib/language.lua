-- mw.language: words and numbers of a language.
local host = select(2, ...)
local language = {}
local Language = {}
Language.__index = Language

function language.new(code)
	if type(code) ~= 'string' then
		error("bad argument #1 to 'mw.language.new' (string expected, got " .. type(code) .. ')', 2)
	end
	return setmetatable({code = code:lower()}, Language)
end
language.getContentLanguage = function() return language.new(host.lang) end

function language.fetchLanguageName(code, inLanguage)
	local name = host.languageName(code)
	if name and (inLanguage or code) ~= host.lang then -- by default, its name in itself
		host.absent('language.fetchLanguageName in another language')
	end
	return name or ''
end

function language.fetchLanguageNames()
	host.absent('language.fetchLanguageNames')
end

function language.isKnownLanguageTag(code)
	return host.languageName(code) ~= nil
end
language.isSupportedLanguage = language.isKnownLanguageTag

function language.isValidCode(code)
	return type(code) == 'string' and code:find('^[%w%-]+$') ~= nil
end
language.isValidBuiltInCode = language.isValidCode

function language.getFallbacksFor(code)
	return code == 'en' and {} or {'en'}
end

function Language:getCode()
	return self.code
end

function Language:toBcp47Code()
	return self.code
end

function Language:lc(text)
	return mw.ustring.lower(text)
end

function Language:uc(text)
	return mw.ustring.upper(text)
end

function Language:ucfirst(text)
	return mw.ustring.upper(mw.ustring.sub(text, 1, 1)) .. mw.ustring.sub(text, 2)
end

function Language:lcfirst(text)
	return mw.ustring.lower(mw.ustring.sub(text, 1, 1)) .. mw.ustring.sub(text, 2)
end

function Language:caseFold(text)
	return mw.ustring.lower(text)
end

local rightToLeft = {ar = true, arc = true, arz = true, azb = true, ckb = true, dv = true, fa = true, glk = true, he = true, ks = true,
	lrc = true, mzn = true, nqo = true, pnb = true, ps = true, sd = true, syr = true, ug = true, ur = true, yi = true}

function Language:isRTL()
	return rightToLeft[self.code:match('^%a+')] or false
end

function Language:getDir()
	return self:isRTL() and 'rtl' or 'ltr'
end

function Language:getDirMark(opposite)
	return self:isRTL() ~= (opposite or false) and '\226\128\143' or '\226\128\142'
end
Language.getDirMarkEntity = function(self, opposite)
	return self:isRTL() ~= (opposite or false) and '&rlm;' or '&lrm;'
end

function Language:getArrow(direction)
	local arrows = {up = '↑', down = '↓', left = '←', right = '→', forwards = self:isRTL() and '←' or '→', backwards = self:isRTL() and '→' or '←'}
	return arrows[direction or 'forwards']
end

function Language:formatNum(number, options)
	local value = tonumber(number)
	if not value then
		return tostring(number)
	end
	local text = type(number) == 'string' and number or tostring(value)
	if options and options.noCommafy then
		return text
	end
	return host.formatNumber(text, self.code)
end

function Language:parseFormattedNumber(text)
	local plain = tostring(text):gsub('[,%s]', ''):gsub('\194\160', '')
	return tonumber(plain)
end

function Language:formatDate(format, timestamp, isLocal)
	return host.formatDate(format, timestamp, self.code)
end

function Language:plural(number, ...)
	local forms = type((...)) == 'table' and (...) or {...}
	local form = tonumber(number) == 1 and 1 or 2
	return forms[math.min(form, #forms)]
end
Language.convertPlural = Language.plural

function Language:convertGrammar(text, case)
	return text
end

function Language:grammar(case, text)
	return text
end

function Language:gender(what, forms)
	return type(forms) == 'table' and (forms[3] or forms[1]) or what
end

function Language:getFallbackLanguages()
	return language.getFallbacksFor(self.code)
end

return language
