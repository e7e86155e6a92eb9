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
const std::set<std::string> kDomains{"", "ai.onnx.ml", "ai.onnx.preview",
                                     "ai.onnx.preview.training"};

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
    void whatIsNotProvenSaysWhy();
    void theDocumentationIsCurrent();
};

/// Also those of former versions, and those that an operator set marks as experimental.
void TstCoverage::everyOperatorHasARule() {
    std::set<std::pair<std::string, std::string>> rows;
    for (const OperatorRow& row : operatorRows())
        rows.insert({row.domain, row.op});
    QStringList without;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history())
        if (const QString name = named(schema.domain(), schema.Name());
            kDomains.contains(schema.domain()) &&
            !rows.contains({schema.domain(), schema.Name()}) && !without.contains(name))
            without << name;
    QVERIFY2(without.isEmpty(), qPrintable("without a row: " + without.join(", ")));
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

/// The proof suite has tried each of them (core/rules/proven.cpp).
void TstCoverage::whatIsNotProvenSaysWhy() {
    int proven = 0;
    for (const OperatorRow& row : operatorRows()) {
        const std::string name = named(row.domain, row.op).toStdString();
        proven += row.proven;
        QVERIFY2(row.proven == row.notProven.empty(), name.c_str());
        QVERIFY2(row.notProven != "it has not been tried", name.c_str());
    }
    QVERIFY(proven > 200);
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
