//! Files that are made by the project itself must be those that it would make
//! today.

use crate::make_samples;
use crate::support::{Workplace, project_path};

#[test]
fn samples_are_fresh() {
    let place = Workplace::new();
    make_samples::write_samples(&place.path("samples")).expect("samples");
    for (name, bytes) in place.files("samples") {
        let committed = std::fs::read(project_path("samples").join(&name)).unwrap_or_default();
        assert!(
            committed == bytes,
            "samples/{name} is stale: run `cargo run --example make_samples`"
        );
    }
}

#[test]
fn completions_are_fresh() {
    let place = Workplace::new();
    for (shell, file) in [
        ("bash", "simtel.bash"),
        ("zsh", "_simtel"),
        ("fish", "simtel.fish"),
        ("powershell", "_simtel.ps1"),
        ("elvish", "simtel.elv"),
    ] {
        let script = place.succeed(&["completions", shell]).stdout;
        let committed = std::fs::read(project_path("completions").join(file)).unwrap_or_default();
        assert!(
            committed == script,
            "completions/{file} is stale: run `cargo run -- completions {shell} > completions/{file}`"
        );
    }
}

#[test]
fn manual_pages_are_fresh() {
    let place = Workplace::new();
    place.succeed(&["man", "-o", "man"]);
    let made = place.files("man");
    let committed: Vec<String> = std::fs::read_dir(project_path("man"))
        .expect("the folder man")
        .map(|entry| entry.expect("an entry").file_name().display().to_string())
        .collect();
    assert_eq!(committed.len(), made.len(), "man/ has other pages");
    for (name, page) in made {
        let committed = std::fs::read(project_path("man").join(&name)).unwrap_or_default();
        assert!(
            committed == page,
            "man/{name} is stale: run `cargo run -- man -o man`"
        );
    }
    let page = place.succeed(&["man", "convert"]).stdout;
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains(".TH simtel-convert 1"), "{page}");
    assert_eq!(place.run(&["man", "nothing"]).code, 2);
}

#[test]
fn manual_of_tables_is_fresh() {
    let place = Workplace::new();
    let made = place.succeed(&["schema", "--markdown"]).stdout;
    let committed = std::fs::read(project_path("docs/tables.md")).unwrap_or_default();
    assert!(
        committed == made,
        "docs/tables.md is stale: run `cargo run -- schema --markdown > docs/tables.md`"
    );
}
