# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_simtel_global_optspecs
    string join \n q/quiet v/verbose color= h/help V/version
end

function __fish_simtel_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_simtel_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_simtel_using_subcommand
    set -l cmd (__fish_simtel_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c simtel -n "__fish_simtel_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_needs_command" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_needs_command" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_needs_command" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "record" -d 'Record what a game sends'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "replay" -d 'Send a capture as the game sent it'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "convert" -d 'Convert captures to Parquet, CSV, JSON or Arrow tables'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "info" -d 'Show what is in captures: senders, packets, sessions, laps, damage'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "schema" -d 'Show the tables of a format, and what their columns mean'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "iracing" -d 'Tell a running iRacing what to do'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c simtel -n "__fish_simtel_needs_command" -f -a "man" -d 'Print a manual page, or write all of them to a folder'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -f -a "f1" -d 'Record F1 games, which send to port 20777'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -f -a "forza" -d 'Record Forza games; port 9999, set under Data Out'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -f -a "udp" -d 'Record any UDP datagrams; needs --listen'
complete -c simtel -n "__fish_simtel_using_subcommand record; and not __fish_seen_subcommand_from f1 forza udp iracing" -f -a "iracing" -d 'Record every tick of iRacing to an .ibt'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s f -l format -d 'Format of the file [default: by the ending of PATH, else pcap]' -r -f -a "pcap\t''
pcapng\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s l -l listen -d 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game\'s port]' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l multicast -d 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l forward -d 'Pass each datagram on to another program, unchanged; may be given several times' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l buffer -d 'How much the system should hold while simtel is busy' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s o -l output -d 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l duration -d 'End after this time; that of ticks counts from the first one' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l idle-stop -d 'End once nothing has arrived for this time, but not before the first arrival' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l max-size -d 'End before more than this has been written, files that --keep has removed included' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l rotate -d 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l keep -d 'Keep only so many of these files, the latest' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l flush-interval -d 'How much a failure of the machine may cost at most, from 200ms on' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l share -d 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l force -d 'Replace the file if it exists'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -l json -d 'Print a JSON object a second on standard error, and a report as JSON on standard output'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from f1" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s f -l format -d 'Format of the file [default: by the ending of PATH, else pcap]' -r -f -a "pcap\t''
pcapng\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s l -l listen -d 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game\'s port]' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l multicast -d 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l forward -d 'Pass each datagram on to another program, unchanged; may be given several times' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l buffer -d 'How much the system should hold while simtel is busy' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s o -l output -d 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l duration -d 'End after this time; that of ticks counts from the first one' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l idle-stop -d 'End once nothing has arrived for this time, but not before the first arrival' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l max-size -d 'End before more than this has been written, files that --keep has removed included' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l rotate -d 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l keep -d 'Keep only so many of these files, the latest' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l flush-interval -d 'How much a failure of the machine may cost at most, from 200ms on' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l share -d 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l force -d 'Replace the file if it exists'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -l json -d 'Print a JSON object a second on standard error, and a report as JSON on standard output'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from forza" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s f -l format -d 'Format of the file [default: by the ending of PATH, else pcap]' -r -f -a "pcap\t''
pcapng\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s l -l listen -d 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game\'s port]' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l multicast -d 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l forward -d 'Pass each datagram on to another program, unchanged; may be given several times' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l buffer -d 'How much the system should hold while simtel is busy' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s o -l output -d 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l duration -d 'End after this time; that of ticks counts from the first one' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l idle-stop -d 'End once nothing has arrived for this time, but not before the first arrival' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l max-size -d 'End before more than this has been written, files that --keep has removed included' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l rotate -d 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l keep -d 'Keep only so many of these files, the latest' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l flush-interval -d 'How much a failure of the machine may cost at most, from 200ms on' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l share -d 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l force -d 'Replace the file if it exists'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -l json -d 'Print a JSON object a second on standard error, and a report as JSON on standard output'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from udp" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l map -d 'Read the simulator\'s memory from this file; without a file, on Windows, from what `simtel replay --map` publishes there [default: the simulator\'s own memory, on Windows]' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l wait -d 'Give up when no simulator has come for this time [default: wait for ever]' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l forward -d 'Pass each tick on to another program as a datagram; may be given several times' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l encode -d 'What to pass on of a tick: its bytes, or a JSON object' -r -f -a "raw\t''
json\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -s c -l columns -d 'Variables of the objects of --encode json, with * and ? [default: all]' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -s o -l output -d 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l duration -d 'End after this time; that of ticks counts from the first one' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l idle-stop -d 'End once nothing has arrived for this time, but not before the first arrival' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l max-size -d 'End before more than this has been written, files that --keep has removed included' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l rotate -d 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l keep -d 'Keep only so many of these files, the latest' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l flush-interval -d 'How much a failure of the machine may cost at most, from 200ms on' -r
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l follow -d 'Wait for the next simulator when one has gone; each gets a file of its own'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l force -d 'Replace the file if it exists'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -l json -d 'Print a JSON object a second on standard error, and a report as JSON on standard output'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand record; and __fish_seen_subcommand_from iracing" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l to -d 'Send to this address; without a port to the one that each datagram was sent to; may be given several times' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l map -d 'Publish the ticks of an .ibt in this file as a running iRacing publishes them in its memory; without a file, on Windows, in memory that `simtel record iracing --map` reads' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l speed -d 'How fast, such as 2 or 0.5; or max, without any wait' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l loop -d 'Repeat so many times in all, or forever' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l loop-gap -d 'Wait so long before each repetition' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l max-gap -d 'Shorten longer silences, such as menus and pauses, to this' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l from -d 'Start here: an offset from the capture\'s first packet such as 1m30s, or a moment such as 2026-05-24T12:00:00Z' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l until -d 'Stop before this time, given like --from' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l start-at -d 'Begin to send at this moment, such as 2026-05-24T12:00:00Z, or after this time, such as 10s' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l limit -d 'Send only the first N datagrams' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l filter -d 'Send only datagrams of a format, packet, source (address, or address and port) or port: KEY=NAMES, or KEY!=NAMES for all others, with * and ?; all of several filters must hold' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l map-port -d 'Send what went to port A to port B; for --to without a port' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l ttl -d 'Time to live of what is sent, for multicast and unicast' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l interface -d 'Send from this address of the machine, or by the network card of this name' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l encode -d 'Send each tick of an .ibt as its bytes, or as a JSON object' -r -f -a "raw\t''
json\t''"
complete -c simtel -n "__fish_simtel_using_subcommand replay" -s c -l columns -d 'Variables of the objects of --encode json, with * and ? [default: all]' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l loss -d 'Share of datagrams to leave out, such as 1%' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l duplicate -d 'Share of datagrams to send twice' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l reorder -d 'Share of datagrams to send after the next one, which itself stays in place' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l delay -d 'Delay each datagram by a time out of this range, such as 5ms..20ms, in the time of the capture' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l seed -d 'What decides which datagrams the faults meet; the same seed gives the same stream' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l spin -d 'Wake so long before each deadline and spin, for precision; 0 to sleep only [default: as long as this machine\'s timers need, up to 200us on Linux]' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l max-late -d 'End with exit status 3 if a datagram was sent later than this' -r
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l as-simulator -d 'Publish them as iRacing itself, so that every program of this machine takes it for running; on Windows'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l preserve-ports -d 'Send from the port that each datagram came from'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l require-listener -d 'Fail if nobody listens at a target, as far as its system says so'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -l json -d 'Print a JSON object a second on standard error, and a report as JSON on standard output'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand replay" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s o -l output -d 'Folder for the tables; or, for exactly one table, a file or `-` for standard output' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s f -l format -d 'Format of the output [default: by the ending of PATH, else parquet]' -r -f -a "parquet\t''
csv\t''
json\t'One array of objects'
ndjson\t'One object a line'
arrow\t'Arrow IPC file; a stream when it goes to standard output'
arrow-stream\t'Arrow IPC stream'"
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s t -l tables -d 'Tables to write, by name or format/name, with * and ? [default: all]' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s c -l columns -d 'Columns to write, with * and ?; keys such as car_index stay unless excluded with a leading ! [default: all]' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l cars -d 'Whose rows to write in tables with a row a car' -r -f -a "all\t''
player\t'The player\'s own'
active\t'Those that take part in the session'"
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l from -d 'Start here: an offset from each capture\'s first packet such as 1m30s, or a moment such as 2026-05-24T12:00:00Z' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l until -d 'Stop before this time, given like --from' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l compression -d 'Compression: zstd, gzip, snappy, lz4 or none, with a level as in zstd:9 [default: zstd:3 for parquet, else none]' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l encoding -d 'Parquet encodings: the smallest files, or files for old readers' -r -f -a "compact\t''
portable\t''"
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l partition-by -d 'Make a folder for each value of these key columns (Hive layout), such as session_uid or capture' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l threads -d 'Worker threads [default: as many as there are cores]' -r
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l driving-only -d 'Leave out what was sent while no car was driven: menus and pauses (Forza)'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l labels -d 'Add a column with the name beside each column of ids'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l force -d 'Replace files that exist'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l skip-existing -d 'Leave tables alone whose files exist'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l keep-empty -d 'Also write tables that have no rows'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l lenient -d 'Decode the known beginning of packets that are longer than they should be'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l strict -d 'Fail at the first damage or unrecognised datagram'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -l json -d 'Print a report as JSON on standard output'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand convert" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand info" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand info" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand info" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand info" -l check -d 'End with exit status 3 if anything is damaged, not recognised or not telemetry at all'
complete -c simtel -n "__fish_simtel_using_subcommand info" -l json -d 'Print a JSON object for each file, one a line'
complete -c simtel -n "__fish_simtel_using_subcommand info" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand info" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand info" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l compare -d 'Show what changed from one format to another' -r
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l layout -d 'A layout file of your own, for a game that simtel does not know; may be given several times' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l game -d 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025' -r
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l labels -d 'Show the columns that --labels adds, too'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l json -d 'Print JSON'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -l markdown -d 'Print a manual in Markdown, in which formats of one family share tables'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand schema" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and not __fish_seen_subcommand_from send" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and not __fish_seen_subcommand_from send" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and not __fish_seen_subcommand_from send" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and not __fish_seen_subcommand_from send" -s h -l help -d 'Print help'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and not __fish_seen_subcommand_from send" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and not __fish_seen_subcommand_from send" -f -a "send" -d 'Send a message to the simulator; on Windows, beside it'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "camera" -d 'Turn the camera to a car'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "camera-state" -d 'Say what of the camera tool is on; nothing without any'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "replay-speed" -d 'Play a replay; 0 pauses, negative is backwards'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "replay-position" -d 'Go to a frame of a replay'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "replay-search" -d 'Look for something in a replay'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "replay-time" -d 'Go to a moment of a session in a replay'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "replay-erase" -d 'Erase the replay'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "reload-textures" -d 'Load the textures of all cars anew'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "chat" -d 'Use the chat window'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "pit" -d 'Say what to do at the next pit stop; obeyed in the car only'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "telemetry" -d 'Let the simulator record an .ibt of its own; obeyed in the car only'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "max-force" -d 'Set the largest force of the wheel'
complete -c simtel -n "__fish_simtel_using_subcommand iracing; and __fish_seen_subcommand_from send" -f -a "video" -d 'Take pictures and videos'
complete -c simtel -n "__fish_simtel_using_subcommand completions" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand completions" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand completions" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c simtel -n "__fish_simtel_using_subcommand completions" -s V -l version -d 'Print version'
complete -c simtel -n "__fish_simtel_using_subcommand man" -s o -l output -d 'Write every page into this folder instead' -r -F
complete -c simtel -n "__fish_simtel_using_subcommand man" -l color -d 'When to use colours' -r -f -a "auto\t''
always\t''
never\t''"
complete -c simtel -n "__fish_simtel_using_subcommand man" -s q -l quiet -d 'Print errors only'
complete -c simtel -n "__fish_simtel_using_subcommand man" -s v -l verbose -d 'Print more about what is read'
complete -c simtel -n "__fish_simtel_using_subcommand man" -s h -l help -d 'Print help'
complete -c simtel -n "__fish_simtel_using_subcommand man" -s V -l version -d 'Print version'
