// SPDX-License-Identifier: Apache-2.0
// Every operator has a rule, and a row that shows it.
#include "rules/examples.h"
#include "rules/operator_list.h"

#include <QFile>
#include <QStringList>
#include <QtTest>

#include <onnx/defs/schema.h>

#include <set>

using namespace shardwright;

namespace {

/// Domains that must be covered.
const std::set<std::string> kDomains{""};

/// Operators without a rule yet. This must become empty.
const std::set<std::string> kMissing{"ConcatFromSequence",
                                     "If",
                                     "Loop",
                                     "Optional",
                                     "OptionalGetElement",
                                     "OptionalHasElement",
                                     "RegexFullMatch",
                                     "Scan",
                                     "SequenceAt",
                                     "SequenceConstruct",
                                     "SequenceEmpty",
                                     "SequenceErase",
                                     "SequenceInsert",
                                     "SequenceLength",
                                     "SequenceMap",
                                     "SplitToSequence",
                                     "StringConcat",
                                     "StringNormalizer",
                                     "StringSplit"};

QString named(const std::string& domain, const std::string& op) {
    return QString::fromStdString(domain.empty() ? op : domain + "::" + op);
}

}  // namespace

class TstCoverage : public QObject {
    Q_OBJECT
private slots:
    void everyOperatorHasARule();
    void everyOperatorHasAnExample();
    void everyExampleIsUnderstood();
    void theDocumentationIsCurrent();
};

void TstCoverage::everyOperatorHasARule() {
    QStringList without, covered;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
        if (!kDomains.contains(schema.domain()))
            continue;
        const bool known = Registry::standard().find(schema.domain(), schema.Name()) != nullptr;
        const bool expected = kMissing.contains(schema.Name());
        const QString name = named(schema.domain(), schema.Name());
        if (!known && !expected && !without.contains(name))
            without << name;
        if (known && expected && !covered.contains(name))
            covered << name;
    }
    QVERIFY2(without.isEmpty(), qPrintable("without a rule: " + without.join(", ")));
    QVERIFY2(covered.isEmpty(), qPrintable("take off the list: " + covered.join(", ")));
}

void TstCoverage::everyOperatorHasAnExample() {
    QStringList without;
    for (const OperatorEntry& entry : Registry::standard().entries())
        if (kDomains.contains(entry.domain) && !findExample(entry.domain, entry.op))
            without << named(entry.domain, entry.op);
    QVERIFY2(without.isEmpty(), qPrintable(without.join(", ")));
}

void TstCoverage::everyExampleIsUnderstood() {
    QStringList problems;
    for (const OperatorExample& example : operatorExamples()) {
        const QString name = named(example.domain, example.op);
        const auto model = exampleModel(example);
        if (!model) {
            problems << name + ": " + QString::fromStdString(model.error().text());
            continue;
        }
        const auto shapes = ShapeTable::build(*model, {});
        const GraphIndex& graph = (*model)->graph();
        for (const std::string& complaint : shapes->complaints())
            problems << name + ": " + QString::fromStdString(complaint);
        if (graph.main().nodes.size() != 1 ||
            graph.opType(graph.main().nodes.front()) != example.op)
            problems << name + ": the example is another node";
        const RulePtr rule = RuleTable::build(*model, shapes)->of(graph.main().nodes.front());
        if (!rule->known)
            problems << name + ": " + QString::fromStdString(rule->strictReason);
    }
    QVERIFY2(problems.isEmpty(), qPrintable(problems.join("\n")));
}

// SHARDWRIGHT_UPDATE_DOCS=1 writes the page instead of comparing it.
void TstCoverage::theDocumentationIsCurrent() {
    const QByteArray wanted = QByteArray::fromStdString(operatorsPage(operatorRows()));
    QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/operators.md");
    if (qEnvironmentVariableIsSet("SHARDWRIGHT_UPDATE_DOCS")) {
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(wanted);
        return;
    }
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), wanted);
}

QTEST_GUILESS_MAIN(TstCoverage)
#include "tst_coverage.moc"
