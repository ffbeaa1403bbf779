
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'simtel' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'simtel'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'simtel' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('record', 'record', [CompletionResultType]::ParameterValue, 'Record what a game sends')
            [CompletionResult]::new('replay', 'replay', [CompletionResultType]::ParameterValue, 'Send a capture as the game sent it')
            [CompletionResult]::new('convert', 'convert', [CompletionResultType]::ParameterValue, 'Convert captures to Parquet, CSV, JSON or Arrow tables')
            [CompletionResult]::new('info', 'info', [CompletionResultType]::ParameterValue, 'Show what is in captures: senders, packets, sessions, laps, damage')
            [CompletionResult]::new('schema', 'schema', [CompletionResultType]::ParameterValue, 'Show the tables of a format, and what their columns mean')
            [CompletionResult]::new('iracing', 'iracing', [CompletionResultType]::ParameterValue, 'Tell a running iRacing what to do')
            [CompletionResult]::new('completions', 'completions', [CompletionResultType]::ParameterValue, 'Print the completion script of a shell')
            [CompletionResult]::new('man', 'man', [CompletionResultType]::ParameterValue, 'Print a manual page, or write all of them to a folder')
            break
        }
        'simtel;record' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('f1', 'f1', [CompletionResultType]::ParameterValue, 'Record F1 games, which send to port 20777')
            [CompletionResult]::new('forza', 'forza', [CompletionResultType]::ParameterValue, 'Record Forza games; port 9999, set under Data Out')
            [CompletionResult]::new('udp', 'udp', [CompletionResultType]::ParameterValue, 'Record any UDP datagrams; needs --listen')
            [CompletionResult]::new('iracing', 'iracing', [CompletionResultType]::ParameterValue, 'Record every tick of iRacing to an .ibt')
            break
        }
        'simtel;record;f1' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Format of the file [default: by the ending of PATH, else pcap]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of the file [default: by the ending of PATH, else pcap]')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game''s port]')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game''s port]')
            [CompletionResult]::new('--multicast', '--multicast', [CompletionResultType]::ParameterName, 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number')
            [CompletionResult]::new('--forward', '--forward', [CompletionResultType]::ParameterName, 'Pass each datagram on to another program, unchanged; may be given several times')
            [CompletionResult]::new('--buffer', '--buffer', [CompletionResultType]::ParameterName, 'How much the system should hold while simtel is busy')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'End after this time; that of ticks counts from the first one')
            [CompletionResult]::new('--idle-stop', '--idle-stop', [CompletionResultType]::ParameterName, 'End once nothing has arrived for this time, but not before the first arrival')
            [CompletionResult]::new('--max-size', '--max-size', [CompletionResultType]::ParameterName, 'End before more than this has been written, files that --keep has removed included')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Keep only so many of these files, the latest')
            [CompletionResult]::new('--flush-interval', '--flush-interval', [CompletionResultType]::ParameterName, 'How much a failure of the machine may cost at most, from 200ms on')
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--share', '--share', [CompletionResultType]::ParameterName, 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object a second on standard error, and a report as JSON on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;record;forza' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Format of the file [default: by the ending of PATH, else pcap]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of the file [default: by the ending of PATH, else pcap]')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game''s port]')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game''s port]')
            [CompletionResult]::new('--multicast', '--multicast', [CompletionResultType]::ParameterName, 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number')
            [CompletionResult]::new('--forward', '--forward', [CompletionResultType]::ParameterName, 'Pass each datagram on to another program, unchanged; may be given several times')
            [CompletionResult]::new('--buffer', '--buffer', [CompletionResultType]::ParameterName, 'How much the system should hold while simtel is busy')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'End after this time; that of ticks counts from the first one')
            [CompletionResult]::new('--idle-stop', '--idle-stop', [CompletionResultType]::ParameterName, 'End once nothing has arrived for this time, but not before the first arrival')
            [CompletionResult]::new('--max-size', '--max-size', [CompletionResultType]::ParameterName, 'End before more than this has been written, files that --keep has removed included')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Keep only so many of these files, the latest')
            [CompletionResult]::new('--flush-interval', '--flush-interval', [CompletionResultType]::ParameterName, 'How much a failure of the machine may cost at most, from 200ms on')
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--share', '--share', [CompletionResultType]::ParameterName, 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object a second on standard error, and a report as JSON on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;record;udp' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Format of the file [default: by the ending of PATH, else pcap]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of the file [default: by the ending of PATH, else pcap]')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game''s port]')
            [CompletionResult]::new('--listen', '--listen', [CompletionResultType]::ParameterName, 'Listen here: PORT for every address of this machine, IPv4 and IPv6, or ADDRESS:PORT; may be given several times [default: the game''s port]')
            [CompletionResult]::new('--multicast', '--multicast', [CompletionResultType]::ParameterName, 'Join a multicast group; GROUP@INTERFACE says on which network card, by its address (IPv4) or number')
            [CompletionResult]::new('--forward', '--forward', [CompletionResultType]::ParameterName, 'Pass each datagram on to another program, unchanged; may be given several times')
            [CompletionResult]::new('--buffer', '--buffer', [CompletionResultType]::ParameterName, 'How much the system should hold while simtel is busy')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'End after this time; that of ticks counts from the first one')
            [CompletionResult]::new('--idle-stop', '--idle-stop', [CompletionResultType]::ParameterName, 'End once nothing has arrived for this time, but not before the first arrival')
            [CompletionResult]::new('--max-size', '--max-size', [CompletionResultType]::ParameterName, 'End before more than this has been written, files that --keep has removed included')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Keep only so many of these files, the latest')
            [CompletionResult]::new('--flush-interval', '--flush-interval', [CompletionResultType]::ParameterName, 'How much a failure of the machine may cost at most, from 200ms on')
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--share', '--share', [CompletionResultType]::ParameterName, 'Let other programs listen at the same port; works for broadcast and multicast alone, anything else reaches only one of them')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object a second on standard error, and a report as JSON on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;record;iracing' {
            [CompletionResult]::new('--map', '--map', [CompletionResultType]::ParameterName, 'Read the simulator''s memory from this file; without a file, on Windows, from what `simtel replay --map` publishes there [default: the simulator''s own memory, on Windows]')
            [CompletionResult]::new('--wait', '--wait', [CompletionResultType]::ParameterName, 'Give up when no simulator has come for this time [default: wait for ever]')
            [CompletionResult]::new('--forward', '--forward', [CompletionResultType]::ParameterName, 'Pass each tick on to another program as a datagram; may be given several times')
            [CompletionResult]::new('--encode', '--encode', [CompletionResultType]::ParameterName, 'What to pass on of a tick: its bytes, or a JSON object')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Variables of the objects of --encode json, with * and ? [default: all]')
            [CompletionResult]::new('--columns', '--columns', [CompletionResultType]::ParameterName, 'Variables of the objects of --encode json, with * and ? [default: all]')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'File to write; or a folder for a file that is named after the game and the time; or `-` for standard output, not for ticks [default: such a file here]')
            [CompletionResult]::new('--duration', '--duration', [CompletionResultType]::ParameterName, 'End after this time; that of ticks counts from the first one')
            [CompletionResult]::new('--idle-stop', '--idle-stop', [CompletionResultType]::ParameterName, 'End once nothing has arrived for this time, but not before the first arrival')
            [CompletionResult]::new('--max-size', '--max-size', [CompletionResultType]::ParameterName, 'End before more than this has been written, files that --keep has removed included')
            [CompletionResult]::new('--rotate', '--rotate', [CompletionResultType]::ParameterName, 'Begin another file when one has this size, such as 100MB, or this age, such as 10m; may be given for both')
            [CompletionResult]::new('--keep', '--keep', [CompletionResultType]::ParameterName, 'Keep only so many of these files, the latest')
            [CompletionResult]::new('--flush-interval', '--flush-interval', [CompletionResultType]::ParameterName, 'How much a failure of the machine may cost at most, from 200ms on')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--follow', '--follow', [CompletionResultType]::ParameterName, 'Wait for the next simulator when one has gone; each gets a file of its own')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace the file if it exists')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object a second on standard error, and a report as JSON on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;replay' {
            [CompletionResult]::new('--to', '--to', [CompletionResultType]::ParameterName, 'Send to this address; without a port to the one that each datagram was sent to; may be given several times')
            [CompletionResult]::new('--map', '--map', [CompletionResultType]::ParameterName, 'Publish the ticks of an .ibt in this file as a running iRacing publishes them in its memory; without a file, on Windows, in memory that `simtel record iracing --map` reads')
            [CompletionResult]::new('--speed', '--speed', [CompletionResultType]::ParameterName, 'How fast, such as 2 or 0.5; or max, without any wait')
            [CompletionResult]::new('--loop', '--loop', [CompletionResultType]::ParameterName, 'Repeat so many times in all, or forever')
            [CompletionResult]::new('--loop-gap', '--loop-gap', [CompletionResultType]::ParameterName, 'Wait so long before each repetition')
            [CompletionResult]::new('--max-gap', '--max-gap', [CompletionResultType]::ParameterName, 'Shorten longer silences, such as menus and pauses, to this')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Start here: an offset from the capture''s first packet such as 1m30s, or a moment such as 2026-05-24T12:00:00Z')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Stop before this time, given like --from')
            [CompletionResult]::new('--start-at', '--start-at', [CompletionResultType]::ParameterName, 'Begin to send at this moment, such as 2026-05-24T12:00:00Z, or after this time, such as 10s')
            [CompletionResult]::new('--limit', '--limit', [CompletionResultType]::ParameterName, 'Send only the first N datagrams')
            [CompletionResult]::new('--filter', '--filter', [CompletionResultType]::ParameterName, 'Send only datagrams of a format, packet, source (address, or address and port) or port: KEY=NAMES, or KEY!=NAMES for all others, with * and ?; all of several filters must hold')
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--map-port', '--map-port', [CompletionResultType]::ParameterName, 'Send what went to port A to port B; for --to without a port')
            [CompletionResult]::new('--ttl', '--ttl', [CompletionResultType]::ParameterName, 'Time to live of what is sent, for multicast and unicast')
            [CompletionResult]::new('--interface', '--interface', [CompletionResultType]::ParameterName, 'Send from this address of the machine, or by the network card of this name')
            [CompletionResult]::new('--encode', '--encode', [CompletionResultType]::ParameterName, 'Send each tick of an .ibt as its bytes, or as a JSON object')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Variables of the objects of --encode json, with * and ? [default: all]')
            [CompletionResult]::new('--columns', '--columns', [CompletionResultType]::ParameterName, 'Variables of the objects of --encode json, with * and ? [default: all]')
            [CompletionResult]::new('--loss', '--loss', [CompletionResultType]::ParameterName, 'Share of datagrams to leave out, such as 1%')
            [CompletionResult]::new('--duplicate', '--duplicate', [CompletionResultType]::ParameterName, 'Share of datagrams to send twice')
            [CompletionResult]::new('--reorder', '--reorder', [CompletionResultType]::ParameterName, 'Share of datagrams to send after the next one, which itself stays in place')
            [CompletionResult]::new('--delay', '--delay', [CompletionResultType]::ParameterName, 'Delay each datagram by a time out of this range, such as 5ms..20ms, in the time of the capture')
            [CompletionResult]::new('--seed', '--seed', [CompletionResultType]::ParameterName, 'What decides which datagrams the faults meet; the same seed gives the same stream')
            [CompletionResult]::new('--spin', '--spin', [CompletionResultType]::ParameterName, 'Wake so long before each deadline and spin, for precision; 0 to sleep only [default: as long as this machine''s timers need, up to 200us on Linux]')
            [CompletionResult]::new('--max-late', '--max-late', [CompletionResultType]::ParameterName, 'End with exit status 3 if a datagram was sent later than this')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--as-simulator', '--as-simulator', [CompletionResultType]::ParameterName, 'Publish them as iRacing itself, so that every program of this machine takes it for running; on Windows')
            [CompletionResult]::new('--preserve-ports', '--preserve-ports', [CompletionResultType]::ParameterName, 'Send from the port that each datagram came from')
            [CompletionResult]::new('--require-listener', '--require-listener', [CompletionResultType]::ParameterName, 'Fail if nobody listens at a target, as far as its system says so')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object a second on standard error, and a report as JSON on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;convert' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Folder for the tables; or, for exactly one table, a file or `-` for standard output')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Folder for the tables; or, for exactly one table, a file or `-` for standard output')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Format of the output [default: by the ending of PATH, else parquet]')
            [CompletionResult]::new('--format', '--format', [CompletionResultType]::ParameterName, 'Format of the output [default: by the ending of PATH, else parquet]')
            [CompletionResult]::new('-t', '-t', [CompletionResultType]::ParameterName, 'Tables to write, by name or format/name, with * and ? [default: all]')
            [CompletionResult]::new('--tables', '--tables', [CompletionResultType]::ParameterName, 'Tables to write, by name or format/name, with * and ? [default: all]')
            [CompletionResult]::new('-c', '-c', [CompletionResultType]::ParameterName, 'Columns to write, with * and ?; keys such as car_index stay unless excluded with a leading ! [default: all]')
            [CompletionResult]::new('--columns', '--columns', [CompletionResultType]::ParameterName, 'Columns to write, with * and ?; keys such as car_index stay unless excluded with a leading ! [default: all]')
            [CompletionResult]::new('--cars', '--cars', [CompletionResultType]::ParameterName, 'Whose rows to write in tables with a row a car')
            [CompletionResult]::new('--from', '--from', [CompletionResultType]::ParameterName, 'Start here: an offset from each capture''s first packet such as 1m30s, or a moment such as 2026-05-24T12:00:00Z')
            [CompletionResult]::new('--until', '--until', [CompletionResultType]::ParameterName, 'Stop before this time, given like --from')
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--compression', '--compression', [CompletionResultType]::ParameterName, 'Compression: zstd, gzip, snappy, lz4 or none, with a level as in zstd:9 [default: zstd:3 for parquet, else none]')
            [CompletionResult]::new('--encoding', '--encoding', [CompletionResultType]::ParameterName, 'Parquet encodings: the smallest files, or files for old readers')
            [CompletionResult]::new('--partition-by', '--partition-by', [CompletionResultType]::ParameterName, 'Make a folder for each value of these key columns (Hive layout), such as session_uid or capture')
            [CompletionResult]::new('--threads', '--threads', [CompletionResultType]::ParameterName, 'Worker threads [default: as many as there are cores]')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--driving-only', '--driving-only', [CompletionResultType]::ParameterName, 'Leave out what was sent while no car was driven: menus and pauses (Forza)')
            [CompletionResult]::new('--labels', '--labels', [CompletionResultType]::ParameterName, 'Add a column with the name beside each column of ids')
            [CompletionResult]::new('--force', '--force', [CompletionResultType]::ParameterName, 'Replace files that exist')
            [CompletionResult]::new('--skip-existing', '--skip-existing', [CompletionResultType]::ParameterName, 'Leave tables alone whose files exist')
            [CompletionResult]::new('--keep-empty', '--keep-empty', [CompletionResultType]::ParameterName, 'Also write tables that have no rows')
            [CompletionResult]::new('--lenient', '--lenient', [CompletionResultType]::ParameterName, 'Decode the known beginning of packets that are longer than they should be')
            [CompletionResult]::new('--strict', '--strict', [CompletionResultType]::ParameterName, 'Fail at the first damage or unrecognised datagram')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a report as JSON on standard output')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;info' {
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--check', '--check', [CompletionResultType]::ParameterName, 'End with exit status 3 if anything is damaged, not recognised or not telemetry at all')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print a JSON object for each file, one a line')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;schema' {
            [CompletionResult]::new('--compare', '--compare', [CompletionResultType]::ParameterName, 'Show what changed from one format to another')
            [CompletionResult]::new('--layout', '--layout', [CompletionResultType]::ParameterName, 'A layout file of your own, for a game that simtel does not know; may be given several times')
            [CompletionResult]::new('--game', '--game', [CompletionResultType]::ParameterName, 'Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a format such as f1_2025')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--labels', '--labels', [CompletionResultType]::ParameterName, 'Show the columns that --labels adds, too')
            [CompletionResult]::new('--json', '--json', [CompletionResultType]::ParameterName, 'Print JSON')
            [CompletionResult]::new('--markdown', '--markdown', [CompletionResultType]::ParameterName, 'Print a manual in Markdown, in which formats of one family share tables')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('send', 'send', [CompletionResultType]::ParameterValue, 'Send a message to the simulator; on Windows, beside it')
            break
        }
        'simtel;iracing;send' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('camera', 'camera', [CompletionResultType]::ParameterValue, 'Turn the camera to a car')
            [CompletionResult]::new('camera-state', 'camera-state', [CompletionResultType]::ParameterValue, 'Say what of the camera tool is on; nothing without any')
            [CompletionResult]::new('replay-speed', 'replay-speed', [CompletionResultType]::ParameterValue, 'Play a replay; 0 pauses, negative is backwards')
            [CompletionResult]::new('replay-position', 'replay-position', [CompletionResultType]::ParameterValue, 'Go to a frame of a replay')
            [CompletionResult]::new('replay-search', 'replay-search', [CompletionResultType]::ParameterValue, 'Look for something in a replay')
            [CompletionResult]::new('replay-time', 'replay-time', [CompletionResultType]::ParameterValue, 'Go to a moment of a session in a replay')
            [CompletionResult]::new('replay-erase', 'replay-erase', [CompletionResultType]::ParameterValue, 'Erase the replay')
            [CompletionResult]::new('reload-textures', 'reload-textures', [CompletionResultType]::ParameterValue, 'Load the textures of all cars anew')
            [CompletionResult]::new('chat', 'chat', [CompletionResultType]::ParameterValue, 'Use the chat window')
            [CompletionResult]::new('pit', 'pit', [CompletionResultType]::ParameterValue, 'Say what to do at the next pit stop; obeyed in the car only')
            [CompletionResult]::new('telemetry', 'telemetry', [CompletionResultType]::ParameterValue, 'Let the simulator record an .ibt of its own; obeyed in the car only')
            [CompletionResult]::new('max-force', 'max-force', [CompletionResultType]::ParameterValue, 'Set the largest force of the wheel')
            [CompletionResult]::new('video', 'video', [CompletionResultType]::ParameterValue, 'Take pictures and videos')
            break
        }
        'simtel;iracing;send;camera' {
            [CompletionResult]::new('--car', '--car', [CompletionResultType]::ParameterName, 'The car with this number, leading zeros included')
            [CompletionResult]::new('--position', '--position', [CompletionResultType]::ParameterName, 'The car at this place of the race')
            [CompletionResult]::new('--focus', '--focus', [CompletionResultType]::ParameterName, 'Whatever is of interest')
            [CompletionResult]::new('--group', '--group', [CompletionResultType]::ParameterName, 'Camera group, by its number in the session string; 0 keeps it')
            [CompletionResult]::new('--camera', '--camera', [CompletionResultType]::ParameterName, 'Camera, by its number in the session string; 0 keeps it')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;camera-state' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;replay-speed' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('--slow-motion', '--slow-motion', [CompletionResultType]::ParameterName, 'Play it this much slower, rather than faster')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;replay-position' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;replay-search' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;replay-time' {
            [CompletionResult]::new('--session', '--session', [CompletionResultType]::ParameterName, 'The session, by its number in the session string')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;replay-erase' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;reload-textures' {
            [CompletionResult]::new('--car', '--car', [CompletionResultType]::ParameterName, 'Of this car only, by its index')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;chat' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;pit' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;telemetry' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;max-force' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;iracing;send;video' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;completions' {
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
        'simtel;man' {
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Write every page into this folder instead')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Write every page into this folder instead')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Print errors only')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Print more about what is read')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print version')
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
