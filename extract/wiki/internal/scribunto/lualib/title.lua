-- mw.title: titles of pages. A page that may be elsewhere than in the definitions of the dump is taken to exist, as
-- links in an article do, and to be no redirect. This is counted.
local host = select(2, ...)
local title = {}
local methods = {}
local namespaces = setmetatable({}, {__index = function(_, id) return host.namespaces[id] or host.canonicalNames[id] end})

-- Dictionaries keep a small first letter, but not in the names of users and of messages.
local function normal(text, namespace)
	text = mw.text.trim((text:gsub('[ _]+', ' ')))
	if host.caseSensitive and not (namespace == -1 or namespace == 2 or namespace == 3 or namespace == 8 or namespace == 9) then
		return text
	end
	return (mw.ustring.gsub(text, '^%l', mw.ustring.upper))
end

local function url(text)
	return mw.uri.encode((text:gsub(' ', '_')), 'WIKI')
end

local function compute(self, key)
	local text = self.text
	if key == 'fragment' then
		return rawget(self, 'anchor')
	elseif key == 'pageLang' then
		return mw.language.getContentLanguage()
	elseif key == 'prefixedText' then
		local ns = self.nsText
		return (self.interwiki ~= '' and self.interwiki .. ':' or '') .. (ns ~= '' and ns .. ':' or '') .. text
	elseif key == 'fullText' then
		return self.prefixedText .. (self.fragment ~= '' and '#' .. self.fragment or '')
	elseif key == 'rootText' then
		return host.subpages(self.namespace) and text:match('^[^/]*') or text
	elseif key == 'baseText' then
		return host.subpages(self.namespace) and text:match('^(.*)/[^/]*$') or text
	elseif key == 'subpageText' then
		return host.subpages(self.namespace) and text:match('[^/]*$') or text
	elseif key == 'isSubpage' then
		return host.subpages(self.namespace) and text:find('/', 1, true) ~= nil
	elseif key == 'basePageTitle' then
		return title.makeTitle(self.namespace, self.baseText)
	elseif key == 'rootPageTitle' then
		return title.makeTitle(self.namespace, self.rootText)
	elseif key == 'talkPageTitle' then
		return self.namespace >= 0 and title.makeTitle(self.namespace + 1 - self.namespace % 2, text) or nil
	elseif key == 'subjectPageTitle' then
		return title.makeTitle(self.namespace - self.namespace % 2, text)
	elseif key == 'subjectNsText' then
		return namespaces[self.namespace - self.namespace % 2] or ''
	elseif key == 'talkNsText' then
		return namespaces[self.namespace + 1 - self.namespace % 2] or ''
	elseif key == 'exists' then
		local known = host.exists(self.namespace, text)
		if known == nil and self.prefixedText ~= host.title then
			host.assume('exists')
		end
		return known ~= false
	elseif key == 'isRedirect' or key == 'redirectTarget' then
		if self.prefixedText ~= host.title then
			host.assume('not_redirect')
		end
		return false
	elseif key == 'id' then
		host.absent('title.id')
	elseif key == 'content' or key == 'file' or key == 'protectionLevels' or key == 'cascadingProtection' or key == 'categories' then
		if key == 'protectionLevels' then
			return {}
		elseif key == 'cascadingProtection' then
			return {restrictions = {}}
		end
		host.absent('title.' .. key)
	end
end

local meta = {}
function meta.__index(self, key)
	if methods[key] then
		return methods[key]
	end
	return compute(self, key)
end
function meta.__newindex(self, key, value)
	if key == 'fragment' then
		key, value = 'anchor', (value:gsub('[ _]+', ' '):gsub(' $', ''))
	end
	rawset(self, key, value)
end
function meta.__eq(a, b)
	return a.namespace == b.namespace and a.text == b.text and a.interwiki == b.interwiki
end
function meta.__lt(a, b)
	if a.interwiki ~= b.interwiki then
		return a.interwiki < b.interwiki
	elseif a.namespace ~= b.namespace then
		return a.namespace < b.namespace
	end
	return a.text < b.text
end
meta.__le = function(a, b) return not (b < a) end
function meta.__tostring(self)
	return self.prefixedText
end
function meta.__concat(a, b)
	return tostring(a) .. tostring(b)
end

local function make(namespace, text, fragment, interwiki)
	local self = setmetatable({
		text = text, namespace = namespace, nsText = namespaces[namespace] or '', interwiki = interwiki or '',
		isExternal = (interwiki or '') ~= '', isLocal = true,
		isTalkPage = namespace > 0 and namespace % 2 == 1, isContentPage = namespace == 0, isSpecialPage = namespace == -1,
		canTalk = namespace >= 0, contentModel = namespace == 828 and 'Scribunto' or 'wikitext',
	}, meta)
	self.fragment = fragment or ''
	return self
end

function title.makeTitle(namespace, text, fragment, interwiki)
	if type(namespace) ~= 'number' then
		namespace = host.namespaceNumber(tostring(namespace))
	end
	if not namespace or text == nil then
		return nil
	end
	text = interwiki and mw.text.trim((text:gsub('[ _]+', ' '))) or normal(tostring(text), namespace)
	if text == '' or text:find('[%[%]{}|<>#\n]') then
		return nil
	end
	return make(namespace, text, fragment, interwiki)
end

function title.new(text, namespace)
	if type(text) == 'number' then
		host.absent('title.new of a number')
	end
	if type(text) ~= 'string' then
		error("bad argument #1 to 'title.new' (number or string expected, got " .. type(text) .. ')', 2)
	end
	text = mw.text.decode(text)
	local fragment
	text, fragment = text:match('^([^#]*)#?(.*)$')
	if not text then
		return nil
	end
	local number = type(namespace) == 'string' and host.namespaceNumber(namespace) or namespace or 0
	text = text:gsub('^%s*:', '')
	local prefix, rest = text:match('^([^:]*):(.*)$')
	if prefix then
		local found = host.namespaceNumber(prefix)
		if found then
			number, text = found, rest
		elseif host.interwiki(mw.text.trim(prefix)) then
			return title.makeTitle(number, rest, fragment, mw.ustring.lower(mw.text.trim(prefix)))
		end
	end
	return title.makeTitle(number, text, fragment)
end

function title.newBatch(list, namespace)
	local batch = {}
	for k, text in ipairs(list) do
		batch[k] = title.new(text, namespace)
	end
	return {lookupExistence = function(self) return self end, getTitles = function() return batch end}
end

function title.getCurrentTitle()
	return title.new(host.title) or make(0, host.title)
end

function title.equals(a, b)
	return a == b
end

function title.compare(a, b)
	return a == b and 0 or a < b and -1 or 1
end

function methods:inNamespace(namespace)
	return self.namespace == (tonumber(namespace) or host.namespaceNumber(tostring(namespace)))
end

function methods:inNamespaces(...)
	for k = 1, select('#', ...) do
		if self:inNamespace((select(k, ...))) then
			return true
		end
	end
	return false
end

function methods:hasSubjectNamespace(namespace)
	return self.namespace - self.namespace % 2 == (tonumber(namespace) or host.namespaceNumber(tostring(namespace)))
end

function methods:isSubpageOf(other)
	return self.namespace == other.namespace and self.text:sub(1, #other.text + 1) == other.text .. '/'
end

function methods:subPageTitle(text)
	return title.makeTitle(self.namespace, self.text .. '/' .. text)
end

function methods:partialUrl()
	return url(self.text)
end

function methods:fullUrl(query)
	return host.server .. self:localUrl(query)
end
methods.canonicalUrl = methods.fullUrl

function methods:localUrl(query)
	return '/wiki/' .. url(self.prefixedText)
end

function methods:getContent()
	host.absent('title.getContent')
end

return title
