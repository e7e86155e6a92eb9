// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QProcess>
#include <QString>
#include <QStringList>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace shardwright::test {

/// Why there are no harnesses; empty where there are.
QString whyNoFuzzers();

/// Runs of one harness, tests/fuzz/fuzz_<name>.cpp, in the folder of the build of the harnesses.
class FuzzRun {
public:
    explicit FuzzRun(std::string name);

    /// Below which seeds lie, also for longer runs by hand.
    std::filesystem::path seeds() const { return m_folder / "seeds" / m_name; }
    std::filesystem::path dictionary() const { return m_folder / (m_name + ".dict"); }

    /// The seeds, then new inputs from a fixed seed: `runs` of them, or for `share` percent of 60 s
    /// if that is sooner; where $SHARDWRIGHT_FUZZ_SECONDS says how long, for `share` percent of
    /// that. Gives what was found, with the file that does it again; empty: nothing.
    QString run(int share, int runs, const QStringList& options = {});

    /// Covered and all lines of one file, in what has been run.
    struct Lines {
        int covered = 0, all = 0;
    };
    /// By path below core/, for files whose path has one of the words. Prints the table.
    std::map<std::string, Lines> coverage(const QStringList& files);

private:
    std::string m_name;
    std::filesystem::path m_folder;
};

/// Of all files together; 0 where there is none.
double percent(const std::map<std::string, FuzzRun::Lines>& coverage);

}  // namespace shardwright::test
