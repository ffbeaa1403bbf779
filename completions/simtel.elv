
use builtin;
use str;

set edit:completion:arg-completer[simtel] = {|@words|
    fn spaces {|n|
        builtin:repeat $n ' ' | str:join ''
    }
    fn cand {|text desc|
        edit:complex-candidate $text &display=$text' '(spaces (- 14 (wcswidth $text)))$desc
    }
    var command = 'simtel'
    for word $words[1..-1] {
        if (str:has-prefix $word '-') {
            break
        }
        set command = $command';'$word
    }
    var completions = [
        &'simtel'= {
            cand --color 'When to use colours'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print more about what is read'
            cand --verbose 'Print more about what is read'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
            cand record 'Record what a game sends'
            cand convert 'Convert captures to Parquet, CSV, JSON or Arrow tables'
            cand schema 'Show the tables of a format, and what their columns mean'
            cand completions 'Print the completion script of a shell'
            cand man 'Print a manual page, or write all of them to a folder'
        }
        &'simtel;record'= {
            cand -o 'File to write, .pcap or .pcapng; or a folder for a file that is named after the game and the time; or `-` for standard output [default: such a file here]'
            cand --output 'File to write, .pcap or .pcapng; or a folder for a file that is named after the game and the time; or `-` for standard output [default: such a file here]'
            cand -f 'Format of the file [default: by the ending of PATH, else pcap]'
            cand --format 'Format of the file [default: by the ending of PATH, else pcap]'
            cand -l 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: 20777 for f1, 9999 for forza]'
            cand --listen 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: 20777 for f1, 9999 for forza]'
            cand --multicast 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number'
            cand --forward 'Pass each datagram on to another program, unchanged; may be given several times'
            cand --duration 'End after this time'
            cand --idle-stop 'End once nothing has arrived for this time, but not before the first datagram'
            cand --max-size 'End before the files together are larger than this'
            cand --rotate 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both'
            cand --keep 'Keep only so many of these files, the latest'
            cand --flush-interval 'How much a failure of the machine may cost at most'
            cand --buffer 'How much the system should hold while simtel is busy'
            cand --layout 'A layout file of your own, for a game that simtel does not know; may be given several times'
            cand --game 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025'
            cand --color 'When to use colours'
            cand --share 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them'
            cand --force 'Replace the file if it exists'
            cand --json 'Print a JSON object a second on standard error, and a report as JSON on standard output'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print more about what is read'
            cand --verbose 'Print more about what is read'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'simtel;convert'= {
            cand -o 'Folder for the tables; or, for exactly one table, a file or `-` for standard output'
            cand --output 'Folder for the tables; or, for exactly one table, a file or `-` for standard output'
            cand -f 'Format of the output [default: by the ending of PATH, else parquet]'
            cand --format 'Format of the output [default: by the ending of PATH, else parquet]'
            cand -t 'Tables to write, by name or format/name, with * and ? [default: all]'
            cand --tables 'Tables to write, by name or format/name, with * and ? [default: all]'
            cand -c 'Columns to write, with * and ?; keys such as car_index stay unless excluded with a leading ! [default: all]'
            cand --columns 'Columns to write, with * and ?; keys such as car_index stay unless excluded with a leading ! [default: all]'
            cand --cars 'Whose rows to write in tables with a row a car'
            cand --from 'Start here: an offset from each capture''s first packet such as 1m30s, or a moment such as 2026-05-24T12:00:00Z'
            cand --until 'Stop before this time, given like --from'
            cand --layout 'A layout file of your own, for a game that simtel does not know; may be given several times'
            cand --game 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025'
            cand --compression 'Compression: zstd, gzip, snappy, lz4 or none, with a level as in zstd:9 [default: zstd:3 for parquet, else none]'
            cand --encoding 'Parquet encodings: the smallest files, or files for old readers'
            cand --partition-by 'Make a folder for each value of these key columns (Hive layout), such as session_uid or capture'
            cand --threads 'Worker threads [default: as many as there are cores]'
            cand --color 'When to use colours'
            cand --driving-only 'Leave out what was sent while no car was driven: menus and pauses (Forza)'
            cand --labels 'Add a column with the name beside each column of ids'
            cand --force 'Replace files that exist'
            cand --skip-existing 'Leave tables alone whose files exist'
            cand --keep-empty 'Also write tables that have no rows'
            cand --lenient 'Decode the known beginning of packets that are longer than they should be'
            cand --strict 'Fail at the first damage or unrecognised datagram'
            cand --json 'Print a report as JSON on standard output'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print more about what is read'
            cand --verbose 'Print more about what is read'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'simtel;schema'= {
            cand --compare 'Show what changed from one format to another'
            cand --layout 'A layout file of your own, for a game that simtel does not know; may be given several times'
            cand --game 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025'
            cand --color 'When to use colours'
            cand --json 'Print JSON'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print more about what is read'
            cand --verbose 'Print more about what is read'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'simtel;completions'= {
            cand --color 'When to use colours'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print more about what is read'
            cand --verbose 'Print more about what is read'
            cand -h 'Print help (see more with ''--help'')'
            cand --help 'Print help (see more with ''--help'')'
            cand -V 'Print version'
            cand --version 'Print version'
        }
        &'simtel;man'= {
            cand -o 'Write every page into this folder instead'
            cand --output 'Write every page into this folder instead'
            cand --color 'When to use colours'
            cand -q 'Print errors only'
            cand --quiet 'Print errors only'
            cand -v 'Print more about what is read'
            cand --verbose 'Print more about what is read'
            cand -h 'Print help'
            cand --help 'Print help'
            cand -V 'Print version'
            cand --version 'Print version'
        }
    ]
    $completions[$command]
}
