<?php
// A wiki without pages, in the language PRETEXT_LANG, for expand.php.
$wgSitename = 'Wiki';
$wgServer = 'http://localhost';
$wgScriptPath = '';
$wgArticlePath = '/wiki/$1';
$wgDBtype = 'sqlite';
$wgDBname = 'wiki';
$wgSQLiteDataDir = getenv( 'PRETEXT_MEDIAWIKI' ) . '/data';
$wgCacheDirectory = getenv( 'PRETEXT_MEDIAWIKI' ) . '/cache';
$wgLocalisationCacheConf['store'] = 'files';
$wgMainCacheType = CACHE_HASH;
$wgMessageCacheType = CACHE_NONE;
$wgParserCacheType = CACHE_NONE;
$wgUseDatabaseMessages = false;
$wgJobRunRate = 0;
$wgSecretKey = 'none';
$wgLanguageCode = getenv( 'PRETEXT_LANG' );
$wgLocaltimezone = 'UTC';
// The Wikipedias in these languages show European digits.
$wgTranslateNumerals = !in_array( $wgLanguageCode, [ 'ar', 'as', 'bh', 'hi', 'ks', 'lo', 'ml', 'sd', 'te' ] );
$wgAllowExternalImages = false;
wfLoadExtension( 'Cite' );
wfLoadExtension( 'ParserFunctions' );
wfLoadExtension( 'Poem' );
wfLoadExtension( 'Scribunto' );
$wgScribuntoDefaultEngine = 'luastandalone';
$wgScribuntoEngineConf['luastandalone']['luaPath'] = '/usr/bin/lua5.1';
