// SPDX-License-Identifier: Apache-2.0
// Every rule on the operator's own kernel: ONNX's node tests and our examples, split in every way
// that the rules claim, must give what one device gives. The table of what is proven
// (core/rules/proven.cpp) is written with SHARDWRIGHT_UPDATE_DOCS=1.
#include "rules/examples.h"
#include "rules/operator_list.h"
#include "rules/proven.h"
#include "support/kept_list.h"
#include "support/rule_proof.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <map>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

using Key = std::pair<std::string, std::string>;  ///< Domain, operator.

struct Row {
    int cases = 0, counted = 0, splits = 0;
    std::set<std::string> factors;      ///< That were split.
    std::vector<std::string> wrong;     ///< "case: split: what".
    std::map<std::string, int> unused;  ///< Cases that show nothing, by reason.
    bool example = false;               ///< All that the example claims came out right.
    std::string why;                    ///< The example shows nothing.
};

/// As a string literal.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text)
        result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c == '\n' ? ' ' : c};
    return result + "\"";
}

}  // namespace

class TstProofSlow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const auto path = OrtRuntime::find();
        auto runtime = path ? OrtRuntime::load(*path)
                            : Result<std::shared_ptr<const OrtRuntime>>(path.error());
        if (!runtime)
            QSKIP("proof: needs ONNX Runtime's library");
        m_runtime = *runtime;
    }

    void everyExampleIsRightInEverySplit() {
        for (const OperatorRow& known : operatorRows()) {
            const Key key{known.domain, known.op};
            Row& row = m_rows[key];
            auto proof = runnableExample(key, row);
            if (!proof)
                continue;
            row.example = tryAll(*proof, "example", row);
        }
        reportWrong();
    }

    void everyNodeTestIsRightInEverySplit() {
        const QString python = qEnvironmentVariable("SHARDWRIGHT_PYTHON");
        const QString script =
            qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/tests/core/rules/node_cases.py";
        if (python.isEmpty())
            QSKIP("proof: needs Python with the onnx package");
        QTemporaryDir folder;
        QProcess writer;
        writer.start(python, {"-B", script, folder.path()});
        QVERIFY(writer.waitForFinished(300'000));
        QVERIFY2(writer.exitCode() == 0, writer.readAllStandardError().constData());
        const QStringList names = QDir(folder.path()).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
        QVERIFY(names.size() > 1000);
        for (const QString& name : names)
            tryNodeTest(std::filesystem::path(folder.filePath(name).toStdString()));
        reportWrong();
    }

    void theTableOfWhatIsProvenIsCurrent() {
        if (m_rows.empty())
            QSKIP("proof: nothing was run");
        std::string proven, unproven;
        for (const auto& [key, row] : m_rows) {
            const std::string name = "    {\"" + key.first + "\", \"" + key.second + "\"";
            if (row.example && row.wrong.empty())
                proven += name + "},\n";
            else
                unproven += name + ", " + quoted(row.why) + "},\n";
        }
        const QString path = qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/core/rules/proven.cpp";
        const std::string text =
            "// SPDX-License-Identifier: Apache-2.0\n"
            "// Written by tests/core/rules/tst_proof_slow.cpp.\n"
            "#include \"rules/proven.h\"\n\nnamespace shardwright {\n\nnamespace {\n\n"
            "// clang-format off\nconstexpr ProvenOperator kProven[] = {\n" +
            proven + "};\n\nconstexpr UnprovenOperator kUnproven[] = {\n" + unproven +
            "};\n// clang-format on\n\n}  // namespace\n\n"
            "std::span<const ProvenOperator> provenOperators() {\n    return kProven;\n}\n\n"
            "std::span<const UnprovenOperator> unprovenOperators() {\n    return kUnproven;\n}\n\n"
            "}  // namespace shardwright\n";
        QFile file(path);
        if (qEnvironmentVariableIsSet("SHARDWRIGHT_UPDATE_DOCS")) {
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.data(), static_cast<qint64>(text.size()));
            return;
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromUtf8(file.readAll()), QString::fromStdString(text));
    }

    /// A factor that the rule keeps whole although its blocks could be computed on their own.
    void theListOfSplitsThatRulesDoNotClaimDoesNotGrow() {
        KeptRows missing;
        for (const OperatorEntry& entry : Registry::standard().entries()) {
            Row unused;
            const auto proof = runnableExample({entry.domain, entry.op}, unused);
            if (!proof)
                continue;
            for (const int f : proof->notClaimed())
                for (const std::string& how : waysToSplit(*proof, entry, f)) {
                    const Factor& factor = proof->rule().factors[static_cast<std::size_t>(f)];
                    missing.insert({"| " + proof->op() + " | `" + factor.name + "` | " + how +
                                        " | " + factor.reason + " |",
                                    1});
                }
        }
        std::string text =
            "# Splits that work and are not claimed\n\n"
            "Dimensions that a rule keeps whole although, on the operator's example, blocks of "
            "them over 2 and over 3 devices give the right result. They are chances, not faults: "
            "results are right without them. What is tried with each factor that is whole in an "
            "input: to cut it in inputs and outputs; to join what the blocks give by a sum, a "
            "product, the larger, the smaller, or, and; to take it for a factor of the same size "
            "of the result; a masked lookup; and to take the operator apart into those that ONNX "
            "says "
            "it is made of, which then need nothing but all-reduces between them. Results that are "
            "whole are cut for free, so that "
            "dimensions of results alone are not looked at. Written by a test, which fails when "
            "the list grows.\n\n"
            "| operator | factor | how | what the rule says |\n|---|---|---|---|\n";
        for (const auto& [line, count] : missing)
            text += line + "\n";
        QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/unclaimed-splits.md");
        if (qEnvironmentVariableIsSet("SHARDWRIGHT_UPDATE_DOCS")) {
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.data(), static_cast<qint64>(text.size()));
            return;
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        const KeptChange change = compareKept(keptRows(file.readAll().toStdString(), -1), missing);
        for (const std::string& row : change.grown)
            qWarning("works and is not claimed: %s", row.c_str());
        QVERIFY(change.grown.empty());
        for (const std::string& row : change.shrunk)
            qInfo("docs/unclaimed-splits.md can lose a row, write it anew: %s", row.c_str());
    }

    void cleanupTestCase() {
        int counted = 0, splits = 0, wrong = 0, proven = 0;
        for (const auto& [key, row] : m_rows) {
            std::string factors;
            for (const std::string& factor : row.factors)
                factors += (factors.empty() ? "" : " ") + factor;
            std::string unused;
            for (const auto& [reason, count] : row.unused)
                unused += "; " + std::to_string(count) + " x " + reason;
            const std::string name = key.first.empty() ? key.second : key.first + "::" + key.second;
            qInfo("%s: %d of %d cases, %d splits, %zu wrong [%s]%s%s", name.c_str(), row.counted,
                  row.cases, row.splits, row.wrong.size(), factors.c_str(),
                  row.example ? ", proven" : "", unused.substr(0, 300).c_str());
            counted += row.counted;
            splits += row.splits;
            wrong += static_cast<int>(row.wrong.size());
            proven += row.example && row.wrong.empty();
        }
        qInfo("%zu operators, %d proven; %d cases in %d splits, %d wrong", m_rows.size(), proven,
              counted, splits, wrong);
    }

private:
    std::vector<std::string> waysToSplit(const RuleProof& proof, const OperatorEntry& entry,
                                         int factor) const {
        std::vector<std::string> ways;
        for (const Attempt& attempt : attemptsAt(proof, factor)) {
            const RuleProof other(proof.proofCase(), m_runtime,
                                  registryWith(entry.domain, entry.op, attempt));
            if (!other.unusable().empty())
                continue;
            const auto claimed = other.claimed();
            bool works = std::find(claimed.begin(), claimed.end(), factor) != claimed.end();
            for (const int devices : {2, 3})
                works = works && other.run({{{factor, 0}}, {devices}}).empty();
            if (works)
                ways.push_back(attempt.how);
        }
        // Where the larger and the smaller one are right, all are the same: the blocks do not
        // matter, and nothing would be gained.
        const auto is = [&](const std::string& how) {
            return std::find(ways.begin(), ways.end(), how) != ways.end();
        };
        if (is("joined by max") && is("joined by min"))
            ways.clear();
        if (is("joined by or") && is("joined by and"))
            ways.clear();
        if (ways.empty())
            if (const auto took = proof.throughBody(factor))
                ways.push_back("as what it is made of, with " + *took);
        return ways;
    }

    /// The example at the newest version that has a kernel.
    std::optional<RuleProof> runnableExample(const Key& key, Row& row) {
        std::string first;
        for (int opset = newestOpset(key.first); opset >= 1; --opset) {
            auto proofCase = exampleCase(key.first, key.second, opset);
            if (!proofCase) {
                first = first.empty() ? proofCase.error().text() : first;
                continue;
            }
            RuleProof proof(std::move(*proofCase), m_runtime);
            if (proof.unusable().empty())
                return proof;
            if (first.empty())
                first = proof.unusable();
            if (proof.unusable().rfind("no kernel", 0) != 0)
                break;
        }
        ++row.cases;
        ++row.unused[first];
        row.why = first;
        return std::nullopt;
    }

    void tryNodeTest(const std::filesystem::path& folder) {
        auto proofCase = readNodeTest(folder);
        if (!proofCase)
            return;
        const onnx::NodeProto& node =
            *proofCase->document.graph().node(proofCase->document.graph().main().nodes[0]).proto;
        Row& row = m_rows[{node.domain() == "ai.onnx" ? "" : node.domain(), node.op_type()}];
        const std::string name = proofCase->name;
        RuleProof proof(std::move(*proofCase), m_runtime);
        if (!proof.unusable().empty()) {
            ++row.cases;
            ++row.unused[proof.unusable()];
            return;
        }
        tryAll(proof, name, row);
    }

    /// Whether something was split, and all of it came out right.
    bool tryAll(const RuleProof& proof, const std::string& name, Row& row) {
        ++row.cases;
        const auto splits = proof.splits();
        if (splits.empty()) {
            ++row.unused["nothing to split"];
            row.why = "nothing is claimed: each dimension is whole, or of size 1";
            return false;
        }
        ++row.counted;
        bool right = true;
        for (const Split& split : splits) {
            std::string wrong = proof.run(split);
            if (wrong == "no input has the factor" || wrong == "one tensor in two layouts")
                continue;
            // Said to be refused in docs/runs.md.
            if (wrong.find("would be cut inside of a byte") != std::string::npos) {
                ++row.unused["cut inside of a byte"];
                continue;
            }
            ++row.splits;
            for (const auto& [factor, axis] : split.axisOf)
                row.factors.insert(proof.rule().factors[static_cast<std::size_t>(factor)].name);
            if (wrong.empty())
                continue;
            right = false;
            row.wrong.push_back(name + ": " + proof.describe(split) + ": " + wrong);
        }
        return right;
    }

    void reportWrong() {
        int wrong = 0;
        for (const auto& [key, row] : m_rows)
            for (const std::string& text : row.wrong) {
                ++wrong;
                qWarning("%s: %s", key.second.c_str(), text.substr(0, 400).c_str());
            }
        QCOMPARE(wrong, 0);
    }

    std::shared_ptr<const OrtRuntime> m_runtime;
    std::map<Key, Row> m_rows;
};

QTEST_GUILESS_MAIN(TstProofSlow)
#include "tst_proof_slow.moc"
