-- mw.site: the wiki.
local host = select(2, ...)
local site = {server = host.server, scriptPath = '/w', currentVersion = '1.43.0', wikiId = host.wiki,
	namespaces = {}, contentNamespaces = {}, subjectNamespaces = {}, talkNamespaces = {}}

for id, name in pairs(host.namespaces) do
	local namespace = {id = id, name = name, canonicalName = host.canonicalNames[id] or name, displayName = name, aliases = {},
		hasSubpages = host.subpages(id), isContent = id == 0, isTalk = id > 0 and id % 2 == 1, isSubject = id <= 0 or id % 2 == 0,
		isCapitalized = true, isIncludable = true, isMovable = id >= 0, hasGenderDistinction = false}
	site.namespaces[id] = namespace
	if namespace.isTalk then
		site.talkNamespaces[id] = namespace
	else
		site.subjectNamespaces[id] = namespace
	end
end
for id, namespace in pairs(site.namespaces) do
	namespace.subject = site.namespaces[id - id % 2] or namespace
	namespace.talk = id >= 0 and site.namespaces[id + 1 - id % 2] or nil
	namespace.associated = namespace.isTalk and namespace.subject or namespace.talk
end
site.contentNamespaces[0] = site.namespaces[0]
setmetatable(site.namespaces, {__index = function(t, key)
	local id = type(key) == 'string' and host.namespaceNumber(key)
	return id and rawget(t, id) or nil
end})

site.stats = setmetatable({}, {__index = function(_, key) host.absent('site.stats.' .. tostring(key)) end})

function site.interwikiMap()
	host.absent('site.interwikiMap')
end

setmetatable(site, {__index = function(_, key)
	if key == 'siteName' then
		host.absent('site.siteName')
	end
end})

return site
