<?php
// Reads cases and writes what MediaWiki makes of them, both as lines of JSON. No page is
// stored: each case brings the templates and modules that it uses, or all use those of a file.
require_once getenv( 'MW_INSTALL_PATH' ) . '/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;
use MediaWiki\Page\PageIdentityValue;
use MediaWiki\Revision\MutableRevisionRecord;
use MediaWiki\Revision\SlotRecord;

class Expand extends Maintenance {
	private const PROJECTS = [ 'commons', 'wikt', 'wiktionary', 'w', 'wikipedia', 's', 'wikisource', 'v', 'wikiversity', 'b', 'wikibooks', 'n', 'wikinews', 'q', 'wikiquote', 'm', 'meta', 'mw', 'd', 'species', 'wikivoyage', 'voy', 'phab' ];
	private const LANGUAGES = [ 'simple', 'bat-smg', 'be-tarask', 'be-x-old', 'cbk-zam', 'fiu-vro', 'map-bms', 'nds-nl', 'roa-rup', 'roa-tara', 'zh-classical', 'zh-min-nan', 'zh-yue' ];
	// Tags of extensions that are not here.
	private const TAGS = [ 'maplink', 'mapframe', 'math', 'chem', 'score', 'timeline', 'hiero', 'imagemap', 'graph', 'templatestyles', 'inputbox', 'categorytree' ];

	private $revisions = [];

	public function __construct() {
		parent::__construct();
		// Options that the script does not know are refused.
		$this->addOption( 'now', 'seconds since 1970 that count as the time', true, true );
		$this->addOption( 'store', 'file with the pages of all cases, a line of JSON each', false, true );
	}

	/** Reads the pages of all cases. One without text exists, and that is all. */
	private function store( string $file ) {
		$links = MediaWikiServices::getInstance()->getLinkCache();
		foreach ( new SplFileObject( $file ) as $id => $line ) {
			$page = json_decode( $line, true );
			$title = $page ? Title::makeTitleSafe( $page['ns'], $page['title'] ) : null;
			if ( !$title ) {
				continue;
			}
			if ( isset( $page['text'] ) ) {
				$this->add( $title, $id + 1, $page['text'] );
			}
			$links->addGoodLinkObj( $id + 1, $title );
		}
	}

	/** Knows the prefixes of other wikis that Wikimedia's wikis have: those of projects and languages. */
	public function prefix( $prefix, &$data ) {
		$known = in_array( $prefix, self::PROJECTS ) || preg_match( '/^[a-z]{2,3}$/', $prefix ) || in_array( $prefix, self::LANGUAGES );
		if ( $known ) {
			$data = [ 'iw_prefix' => $prefix, 'iw_url' => "https://$prefix.example.org/$1", 'iw_api' => '', 'iw_wikiid' => '', 'iw_local' => 1, 'iw_trans' => 0 ];
		}
		return !$known;
	}

	/** Adds a page to $this->revisions. */
	private function add( Title $title, int $id, string $text ) {
		$page = new PageIdentityValue( $id, $title->getNamespace(), $title->getDBkey(), PageIdentityValue::LOCAL );
		$css = substr( $title->getText(), -4 ) === '.css';
		$model = $css ? 'text' : ( $title->getNamespace() === 828 ? 'Scribunto' : 'wikitext' );
		$revision = new MutableRevisionRecord( $page );
		$revision->setContent( SlotRecord::MAIN, ContentHandler::makeContent( $text, $title, $model ) );
		$revision->setId( $id );
		$revision->setTimestamp( wfTimestamp( TS_MW, (int)$this->getOption( 'now' ) ) );
		$this->revisions[$title->getPrefixedDBkey()] = $revision;
	}

	/** Fills $this->revisions, by title, with the pages of a case. */
	private function load( array $pages ) {
		$this->revisions = [];
		$links = MediaWikiServices::getInstance()->getLinkCache();
		$links->clear();
		$id = 1000;
		foreach ( $pages as $name => $text ) {
			$title = Title::newFromText( $name );
			$this->add( $title, ++$id, $text );
			$links->addGoodLinkObj( $id, $title );
		}
	}

	public function execute() {
		$now = (int)$this->getOption( 'now' );
		$services = MediaWikiServices::getInstance();
		$factory = $services->getParserFactory();
		if ( $this->hasOption( 'store' ) ) {
			$this->store( $this->getOption( 'store' ) );
			$services->getHookContainer()->register( 'InterwikiLoadPrefix', [ $this, 'prefix' ] );
		}
		while ( ( $line = fgets( STDIN ) ) !== false ) {
			$case = json_decode( $line, true );
			if ( !$this->hasOption( 'store' ) ) {
				$this->load( (array)( $case['pages'] ?? [] ) );
			}
			$time = $case['now'] ?? $now;
			MWTimestamp::setFakeTime( $time );
			$options = ParserOptions::newFromAnon();
			$options->setTimestamp( wfTimestamp( TS_MW, $time ) );
			$options->setCurrentRevisionRecordCallback( function ( $title ) {
				return $this->revisions[Title::castFromLinkTarget( $title )->getPrefixedDBkey()] ?? null;
			} );
			$parser = $factory->create();
			if ( $this->hasOption( 'store' ) ) {
				foreach ( self::TAGS as $tag ) {
					$parser->setHook( $tag, static fn () => '' );
				}
			}
			$output = $parser->parse( $case['text'], Title::newFromText( $case['title'] ), $options );
			$html = $output->getText( [ 'enableSectionEditLinks' => false, 'unwrap' => true, 'allowTOC' => false ] );
			echo json_encode( $html, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE ), "\n";
		}
	}
}

$maintClass = Expand::class;
require_once RUN_MAINTENANCE_IF_MAIN;
