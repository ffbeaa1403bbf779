use std::process::ExitCode;

fn main() -> ExitCode {
    simtel::cli::main()
}
