<?php
// Reads cases and writes what MediaWiki makes of them, both as lines of JSON. No page is
// stored: each case brings the templates and modules that it uses.
require_once getenv( 'MW_INSTALL_PATH' ) . '/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;
use MediaWiki\Page\PageIdentityValue;
use MediaWiki\Revision\MutableRevisionRecord;
use MediaWiki\Revision\SlotRecord;

class Expand extends Maintenance {
	private $revisions = [];

	public function __construct() {
		parent::__construct();
		// Options that the script does not know are refused.
		$this->addOption( 'now', 'seconds since 1970 that count as the time', true, true );
	}

	/** Fills $this->revisions, by title, with the pages of a case. */
	private function load( array $pages ) {
		$this->revisions = [];
		$links = MediaWikiServices::getInstance()->getLinkCache();
		$links->clear();
		$id = 1000;
		foreach ( $pages as $name => $text ) {
			$title = Title::newFromText( $name );
			$page = new PageIdentityValue( ++$id, $title->getNamespace(), $title->getDBkey(), PageIdentityValue::LOCAL );
			$model = $title->getNamespace() === 828 ? 'Scribunto' : 'wikitext';
			$revision = new MutableRevisionRecord( $page );
			$revision->setContent( SlotRecord::MAIN, ContentHandler::makeContent( $text, $title, $model ) );
			$revision->setId( $id );
			$revision->setTimestamp( wfTimestamp( TS_MW, (int)$this->getOption( 'now' ) ) );
			$this->revisions[$title->getPrefixedDBkey()] = $revision;
			$links->addGoodLinkObj( $id, $title );
		}
	}

	public function execute() {
		$now = (int)$this->getOption( 'now' );
		MWTimestamp::setFakeTime( $now );
		$factory = MediaWikiServices::getInstance()->getParserFactory();
		while ( ( $line = fgets( STDIN ) ) !== false ) {
			$case = json_decode( $line, true );
			$this->load( (array)( $case['pages'] ?? [] ) );
			$options = ParserOptions::newFromAnon();
			$options->setTimestamp( wfTimestamp( TS_MW, $now ) );
			$options->setCurrentRevisionRecordCallback( function ( $title ) {
				return $this->revisions[Title::castFromLinkTarget( $title )->getPrefixedDBkey()] ?? null;
			} );
			$parser = $factory->create();
			$output = $parser->parse( $case['text'], Title::newFromText( $case['title'] ), $options );
			$html = $output->getText( [ 'enableSectionEditLinks' => false, 'unwrap' => true, 'allowTOC' => false ] );
			echo json_encode( $html, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE ), "\n";
		}
	}
}

$maintClass = Expand::class;
require_once RUN_MAINTENANCE_IF_MAIN;
