// SPDX-License-Identifier: Apache-2.0
// Every rule on the operator's own kernel: ONNX's node tests and our examples, split in every way
// that the rules claim, must give what one device gives. The table of what is proven
// (core/rules/proven.cpp) is written with SHARDWRIGHT_UPDATE_DOCS=1.
#include "rules/examples.h"
#include "rules/operator_list.h"
#include "rules/proven.h"
#include "support/rule_proof.h"

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

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
};

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
        for (const OperatorEntry& entry : Registry::standard().entries()) {
            const Key key{entry.domain, entry.op};
            Row& row = m_rows[key];
            auto proof = runnableExample(entry, row);
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
        std::string table;
        for (const auto& [key, row] : m_rows)
            if (row.example && row.wrong.empty())
                table += "    {\"" + key.first + "\", \"" + key.second + "\"},\n";
        const QString path = qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/core/rules/proven.cpp";
        const std::string text =
            "// SPDX-License-Identifier: Apache-2.0\n"
            "// Written by tests/core/rules/tst_proof_slow.cpp.\n"
            "#include \"rules/proven.h\"\n\nnamespace shardwright {\n\nnamespace {\n\n"
            "// clang-format off\nconstexpr ProvenOperator kProven[] = {\n" +
            table +
            "};\n// clang-format on\n\n}  // namespace\n\n"
            "std::span<const ProvenOperator> provenOperators() {\n    return kProven;\n}\n\n"
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

    /// A factor that the rule keeps whole although each block of it could be computed alone.
    void theListOfSplitsThatRulesDoNotClaimIsCurrent() {
        std::set<std::string> missing;
        for (const OperatorEntry& entry : Registry::standard().entries()) {
            Row unused;
            const auto proof = runnableExample(entry, unused);
            if (!proof)
                continue;
            for (const int f : proof->notClaimed()) {
                const Factor& factor = proof->rule().factors[static_cast<std::size_t>(f)];
                const RuleProof allowed(proof->proofCase(), m_runtime,
                                        registryThatAllows(entry.domain, entry.op, factor.name));
                bool works = allowed.unusable().empty();
                for (const int devices : {2, 3})
                    works = works && allowed.run({{{f, 0}}, {devices}}).empty();
                if (works)
                    missing.insert("| " + proof->op() + " | `" + factor.name + "` | " +
                                   factor.reason + " |");
            }
        }
        QVERIFY(!missing.empty());
        std::string text =
            "# Splits that work and are not claimed\n\n"
            "Dimensions that a rule keeps whole although, on the operator's example, each block "
            "of them gives the right result by itself. They are chances, not faults: results are "
            "right without them. Written by a test, which fails when the list grows.\n\n"
            "| operator | factor | what the rule says |\n|---|---|---|\n";
        for (const std::string& line : missing)
            text += line + "\n";
        QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/unclaimed-splits.md");
        if (qEnvironmentVariableIsSet("SHARDWRIGHT_UPDATE_DOCS")) {
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text.data(), static_cast<qint64>(text.size()));
            return;
        }
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(QString::fromStdString(text), QString::fromUtf8(file.readAll()));
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
    /// The example at the newest version that has a kernel.
    std::optional<RuleProof> runnableExample(const OperatorEntry& entry, Row& row) {
        std::string first;
        for (int opset = newestOpset(entry.domain); opset >= 1; --opset) {
            auto proofCase = exampleCase(entry.domain, entry.op, opset);
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
