# Sends records with the marks FIRST to LAST-1: send.rb CLIENT FIRST LAST ADDRESS PAUSE, the address of its protocol's
# port and the milliseconds to wait after each 20 records. Every tenth record is an error.

require 'elasticsearch'
require 'gelf'
require 'time'

CLIENT, FIRST, LAST, ADDRESS, PAUSE = ARGV[0], ARGV[1].to_i, ARGV[2].to_i, ARGV[3], ARGV[4].to_f
HOST, PORT = ADDRESS.split(':')

# Does what a program does that wants its records to arrive: it sends again if the client says that it could not.
def insist
  left = 100
  begin
    yield
  rescue StandardError => e
    raise if (left -= 1).zero?

    warn "again: #{e}"
    sleep 0.3
    retry
  end
end

def wait_after(mark)
  sleep PAUSE / 1000 if mark % 20 == 19
end

case CLIENT
when 'ruby-elasticsearch'
  server = Elasticsearch::Client.new(url: "http://#{ADDRESS}")
  (FIRST...LAST).each_slice(100) do |marks|
    marks.each { |mark| wait_after(mark) }
    body = marks.flat_map do |mark|
      [{ create: { _id: mark.to_s } },
       { '@timestamp': Time.now.utc.iso8601, message: 'a record', mark:, level: mark % 10 == 0 ? 'error' : 'info' }]
    end
    insist { raise 'some records were refused' if server.bulk(index: 'shop', body:)['errors'] }
  end
when 'ruby-gelf'
  server = GELF::Notifier.new(HOST, PORT.to_i, 'WAN', { host: 'web1', app: 'shop' })
  (FIRST...LAST).each do |mark|
    server.notify!(short_message: 'a record', mark:, level: mark % 10 == 0 ? GELF::ERROR : GELF::INFO)
    sleep 0.001 if mark % 50 == 0 # nothing else keeps a sender of datagrams from filling the kernel's buffer
  end
else
  abort "unknown client #{CLIENT}"
end
