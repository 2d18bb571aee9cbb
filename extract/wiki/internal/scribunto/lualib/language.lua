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
	return type(code) == 'string' and code ~= '' and code:find('[%c:/\\<>&"\'%[%]]') == nil
end

function language.isValidBuiltInCode(code)
	return type(code) == 'string' and code:find('^[%w%-]+$') ~= nil
end

function language.getFallbacksFor(code)
	if code ~= 'en' then
		host.absent('language.getFallbacksFor')
	end
	return {}
end

function Language:getCode()
	return self.code
end

function Language:toBcp47Code()
	if self.code:find('^%l%l%l?$') == nil then
		host.absent('toBcp47Code of ' .. self.code)
	end
	return self.code
end

-- own ends a call that needs rules of a language that is not the wiki's own.
local function own(self, what)
	if self.code ~= host.lang then
		host.absent(what .. ' in ' .. self.code)
	end
end

function Language:lc(text)
	return mw.ustring.lower(text)
end

function Language:uc(text)
	return mw.ustring.upper(text)
end

function Language:ucfirst(text)
	if host.dotted(self.code) and text:sub(1, 1) == 'i' then
		return 'İ' .. text:sub(2)
	end
	return mw.ustring.upper(mw.ustring.sub(text, 1, 1)) .. mw.ustring.sub(text, 2)
end

function Language:lcfirst(text)
	if host.dotted(self.code) and text:sub(1, 1) == 'I' then
		return 'ı' .. text:sub(2)
	end
	return mw.ustring.lower(mw.ustring.sub(text, 1, 1)) .. mw.ustring.sub(text, 2)
end

function Language:caseFold(text)
	return mw.ustring.upper(text)
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
	if value ~= value or value == math.huge or value == -math.huge then
		error("bad argument #1 to 'formatNum' (" .. (value ~= value and 'NaN' or 'infinite') .. ')', 2)
	end
	local text = type(number) == 'string' and number or tostring(value)
	if type(number) == 'number' and value == math.floor(value) and math.abs(value) < 2^53 then
		text = ('%.0f'):format(value) -- not 1e+15
	end
	own(self, 'formatNum')
	if options and options.noCommafy then
		if host.formatNumber('1.5') ~= '1.5' then
			host.absent('formatNum without separators in ' .. self.code)
		end
		return text
	end
	return host.formatNumber(text)
end

function Language:parseFormattedNumber(text)
	own(self, 'parseFormattedNumber')
	return tonumber(host.parseNumber(tostring(text)))
end

function Language:formatDate(format, timestamp, isLocal)
	return host.formatDate(format, timestamp, self.code)
end

function Language:plural(number, ...)
	local forms = type((...)) == 'table' and (...) or {...}
	local exact, usual = {}, 0
	for k, form in ipairs(forms) do
		exact[k] = tostring(form):match('^(%d+)=')
		if exact[k] and tonumber(exact[k]) == tonumber(number) then
			return (tostring(form):gsub('^%d+=', ''))
		end
		usual = usual + (exact[k] and 0 or 1)
	end
	if usual < 2 then -- the same in all languages
		for k, form in ipairs(forms) do
			if not exact[k] then
				return form
			end
		end
		return nil
	end
	own(self, 'plural')
	local k = host.plural(tostring(number), forms)
	if not k then
		host.absent('plural of ' .. tostring(number))
	end
	return forms[k]
end
Language.convertPlural = Language.plural

function Language:grammar(case, text)
	if host.inflects(self.code) then
		host.absent('grammar in ' .. self.code)
	end
	return text
end

function Language:convertGrammar(text, case)
	return self:grammar(case, text)
end

function Language:gender(what, ...)
	local forms = type((...)) == 'table' and (...) or {...}
	if what == 'female' then
		return forms[2] or forms[1] or ''
	elseif what ~= 'male' then -- the gender of a user
		host.absent('gender of a user')
	end
	return forms[1] or ''
end

function Language:formatDuration()
	host.absent('formatDuration')
end
Language.getDurationIntervals = Language.formatDuration

function Language:getFallbackLanguages()
	return language.getFallbacksFor(self.code)
end

-- Methods are errors where the code is none.
for name, method in pairs(Language) do
	if type(method) == 'function' and name ~= 'getCode' then
		Language[name] = function(self, ...)
			if not language.isValidCode(self.code) then
				error("language code '" .. self.code .. "' is invalid", 2)
			end
			return method(self, ...)
		end
	end
end

return language
