// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"
#include "support/shared_files.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <QTest>

#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// Operators of the exported models that have no rule. This list may only shrink.
const std::set<std::string> kWithoutRule = {"AveragePool", "Conv", "GRU",  "GlobalMaxPool",
                                            "If",          "LSTM", "Loop", "MaxPool"};

/// Models whose every node with known shapes must have a rule.
bool mustBeComplete(const std::string& name) {
    for (const char* prefix : {"bert", "gpt2", "llama", "t5", "attn_rope", "mlp"})
        if (name.starts_with(prefix))
            return true;
    return false;
}

}  // namespace

class TstRulesOnModels : public QObject {
    Q_OBJECT

private slots:
    void everyRuleIsValid_data() {
        QTest::addColumn<QString>("path");
        for (const auto& path : sharedModels())
            QTest::newRow(path.stem().c_str()) << QString::fromStdString(path.string());
        if (sharedModels().empty())
            QSKIP("needs the shared models, which are not there");
    }
    void everyRuleIsValid() {
        QFETCH(QString, path);
        auto model = Model::load(path.toStdString());
        QVERIFY2(model, model ? "" : model.error().text().c_str());
        const BuiltRules built(*model);
        const GraphIndex& graph = built.model->graph();
        std::set<std::string> withoutRule, notFitting;
        std::set<RulePtr> distinct;
        for (const NodeInfo& node : graph.nodes) {
            const RulePtr& rule = built.rules->of(node.id);
            distinct.insert(rule);
            const NodeContext context{graph, *built.shapes, node, 0};
            QVERIFY2(validateRule(*rule, context).empty(),
                     (graph.label(node.id) + ": " + validateRule(*rule, context)).c_str());
            if (rule->known)
                continue;
            if (rule->strictReason.starts_with("no rule for "))
                withoutRule.insert(std::string(graph.opType(node.id)));
            else
                notFitting.insert(graph.label(node.id) + " (" + std::string(graph.opType(node.id)) +
                                  "): " + rule->strictReason);
        }
        QElapsedTimer timer;
        timer.start();
        RuleTable::build(built.model, built.shapes);
        qInfo("%zu nodes, %zu distinct rules, %lld ms", graph.nodes.size(), distinct.size(),
              static_cast<long long>(timer.elapsed()));
        for (const std::string& op : withoutRule)
            qInfo("no rule for %s", op.c_str());
        int shown = 0;
        for (const std::string& text : notFitting)
            if (shown++ < 5)
                qInfo("%s", text.c_str());
        for (const std::string& op : withoutRule)
            QVERIFY2(kWithoutRule.contains(op), ("no rule for " + op).c_str());
        if (mustBeComplete(QFileInfo(path).fileName().toStdString())) {
            QVERIFY2(withoutRule.empty(), withoutRule.empty() ? "" : withoutRule.begin()->c_str());
            QVERIFY2(notFitting.empty(), notFitting.empty() ? "" : notFitting.begin()->c_str());
        }
    }
};

QTEST_GUILESS_MAIN(TstRulesOnModels)
#include "tst_rules_on_models.moc"
