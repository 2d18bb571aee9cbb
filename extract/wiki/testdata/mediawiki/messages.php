<?php
// Writes messages.tsv of package locale: the names of months and days, and the format of
// dates, that MediaWiki has in each language, with the languages that it falls back to.
require_once getenv( 'MW_INSTALL_PATH' ) . '/maintenance/Maintenance.php';

use MediaWiki\Languages\LanguageNameUtils;
use MediaWiki\MediaWikiServices;

class Messages extends Maintenance {
	private const MONTHS = [ 'january', 'february', 'march', 'april', 'may_long', 'june', 'july', 'august', 'september', 'october', 'november', 'december' ];
	private const SHORT = [ 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec' ];
	private const DAYS = [ 'sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday' ];
	private const SHORTDAYS = [ 'sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat' ];

	public function execute() {
		$services = MediaWikiServices::getInstance();
		$codes = array_keys( $services->getLanguageNameUtils()->getLanguageNames( LanguageNameUtils::AUTONYMS, LanguageNameUtils::SUPPORTED ) );
		$lines = [];
		foreach ( $codes as $code ) {
			$language = $services->getLanguageFactory()->getLanguage( $code );
			// "may" is May in short, "may_long" in full.
			$names = static fn ( array $keys, string $end = '' ) => implode( '|', array_map( static fn ( $key ) => wfMessage( $end && $key === 'may_long' ? 'may-gen' : $key . $end )->inLanguage( $language )->useDatabase( false )->plain(), $keys ) );
			$alone = $names( self::MONTHS );
			$in = $names( self::MONTHS, '-gen' );
			$short = $names( self::SHORT );
			$fields = [ $alone, $in === $alone ? '' : $in, $short, $names( self::DAYS ), $names( self::SHORTDAYS ), $language->getDateFormatString( 'date', $language->getDefaultDateFormat() ) ];
			$lines[$code] = implode( "\t", $fields );
		}
		ksort( $lines, SORT_STRING );
		$first = [];
		foreach ( $lines as $code => $line ) {
			$same = $first[$line] ??= $code;
			$out[] = $same === $code ? "$code\t$line\n" : "$code\t=$same\n";
		}
		sort( $out, SORT_STRING );
		echo implode( '', $out );
	}
}

$maintClass = Messages::class;
require_once RUN_MAINTENANCE_IF_MAIN;
