# Sends records with the marks FIRST to LAST-1 by Search::Elasticsearch: send.pl CLIENT FIRST LAST ADDRESS PAUSE, the
# address of the port and the milliseconds to wait after each 20 records. Every tenth record is an error.
use strict;
use warnings;
use POSIX qw(strftime);
use Search::Elasticsearch;
use Time::HiRes qw(sleep);

my ($client, $first, $last, $address, $pause) = @ARGV;

# insist does what a program does that wants its records to arrive: it sends again if the client says that it could not.
sub insist {
    my ($send) = @_;
    for my $left (reverse 0 .. 100) {
        my $answer = eval { $send->() };
        return $answer if !$@;
        die $@ if !$left;
        print STDERR "again: $@";
        sleep 0.3;
    }
}

my $server = insist(sub { Search::Elasticsearch->new(nodes => "http://$address", client => '8_0::Direct') });
my @batch;

sub flush_batch {
    insist(sub {
        my $answer = $server->bulk(index => 'shop', body => [map { ({ create => { _id => $_->{mark} } }, $_) } @batch]);
        die "some records were refused\n" if $answer->{errors};
    });
    @batch = ();
}

for my $mark ($first .. $last - 1) {
    push @batch, {
        '@timestamp' => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime), message => 'a record', mark => $mark,
        level => $mark % 10 ? 'info' : 'error',
    };
    flush_batch() if @batch == 100;
    sleep $pause / 1000 if $mark % 20 == 19;
}
flush_batch() if @batch;
