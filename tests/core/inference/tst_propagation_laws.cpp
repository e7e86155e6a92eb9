// SPDX-License-Identifier: Apache-2.0
// Laws of propagation on random graphs with random layouts.
#include "inference/axis_assignment.h"
#include "inference/factor_rows.h"

#include "propagation_fixture.h"

#include <QtTest>

#include <map>

using namespace shardwright;
using namespace shardwright::test;

namespace {

constexpr unsigned kSeeds = 40;

void annotateAtRandom(PropagationCase& c, unsigned seed, int edits) {
    std::mt19937 random(seed);
    for (int i = 0; i < edits; ++i)
        randomEdit(c, random);
}

/// Says at every node that reads `tensor` that it lies like this.
void putEverywhere(PropagationCase& c, const char* tensor, const std::string& axes) {
    const ValueId value = valueNamed(c.graph(), tensor);
    const auto& shape = c.shapes->of(value).dims;
    for (const ValueUse& use : c.graph().value(value).uses)
        c.put(use.node, tensor,
              *AxisSpace(c.configuration.mesh).toLayout(c.sharding(axes, shape.size()), shape));
}

std::map<std::string, QString> resultOf(const PropagationCase& c) {
    const Propagator p = c.propagated();
    std::map<std::string, QString> result;
    for (const ValueInfo& value : c.graph().values)
        result[value.name] = axesText(p.of(value.id), p.space());
    return result;
}

/// Whether any two tensors of a node contradict each other.
bool contradicts(const PropagationCase& c, const Propagator& p) {
    for (const NodeId node : c.graph().main().nodes) {
        const Rule& rule = *c.rules->of(node);
        std::vector<FactorRow> rows;
        const auto tensors = p.tensorsOf(node);
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            const TensorMap& map =
                t < rule.inputs.size() ? rule.inputs[t] : rule.outputs[t - rule.inputs.size()];
            if (tensors[t])
                rows.push_back(projectToFactors(rule, map, *tensors[t]));
        }
        for (const FactorRow& a : rows)
            for (const FactorRow& b : rows)
                for (std::size_t f = 0; f < rule.factors.size(); ++f) {
                    const AxisList& mine = a.factors[f].axes;
                    if (prefixOrder(mine, b.factors[f].axes) == PrefixOrder::None &&
                        prefixOrder(b.factors[f].axes, mine) == PrefixOrder::None)
                        return true;
                    for (std::size_t g = 0; g < rule.factors.size(); ++g)
                        for (const AxisRef& axis : mine)
                            if (g != f && overlaps(axis, b.factors[g].axes))
                                return true;
                }
    }
    return false;
}

}  // namespace

class TstPropagationLaws : public QObject {
    Q_OBJECT
private slots:
    void whatWasFoundIsFoundAgain_data() { policies(); }
    void whatWasFoundIsFoundAgain() {
        QFETCH(QString, policy);
        int split = 0;
        for (unsigned seed = 1; seed <= kSeeds; ++seed) {
            PropagationCase c(randomModel(seed, 30), "p=2,q=2,r=2");
            c.options.policy = *findPropagationPolicy(policy.toStdString());
            annotateAtRandom(c, seed, 4);
            const auto once = resultOf(c);
            const Propagator p = c.propagated();
            for (const NodeId node : c.graph().main().nodes) {
                const ValueId output = c.graph().node(node).outputs.front();
                const AxisSharding* sharding = p.of(output);
                if (!sharding || !sharding->split())
                    continue;
                ++split;
                c.put(node, c.graph().value(output).name,
                      *p.space().toLayout(*sharding, c.shapes->of(output).dims));
            }
            for (const auto& [name, axes] : resultOf(c)) {
                const bool produced =
                    static_cast<bool>(c.graph().value(valueNamed(c.graph(), name)).producer);
                if (produced)
                    QCOMPARE(axes, once.at(name));
            }
        }
        QVERIFY(split > 100);
    }

    void goingBackNeverContradictsWhereItCameFrom() {
        int compared = 0;
        for (unsigned seed = 1; seed <= kSeeds; ++seed) {
            const char* layouts[] = {"p, q, r", "p+q, r, ", ", p, q+r", "r, , p", "q+p, , "};
            const std::string axes = layouts[seed % 5];
            PropagationCase c(randomModel(seed, 30), "p=2,q=2,r=2");
            putEverywhere(c, "x", axes);
            c.options.direction = PropagationDirection::Forward;
            const Propagator forward = c.propagated();
            PropagationCase back(c.model, "p=2,q=2,r=2");
            back.options.direction = PropagationDirection::Reverse;
            for (const NodeId node : c.graph().main().nodes) {
                const ValueId output = c.graph().node(node).outputs.front();
                const AxisSharding* sharding = forward.of(output);
                if (sharding && sharding->split())
                    back.put(node, c.graph().value(output).name,
                             *forward.space().toLayout(*sharding, c.shapes->of(output).dims));
            }
            const Propagator reverse = back.propagated();
            const AxisSharding was = c.sharding(axes, 3);
            const AxisSharding* now = reverse.of(valueNamed(c.graph(), "x"));
            for (std::size_t d = 0; d < 3; ++d) {
                const AxisList a = was.dims[d].all(), b = now->dims[d].all();
                QVERIFY2(prefixOrder(a, b) != PrefixOrder::None ||
                             prefixOrder(b, a) != PrefixOrder::None,
                         qPrintable(
                             QString("seed %1: %2").arg(seed).arg(axesText(now, reverse.space()))));
                compared += b.empty() ? 0 : 1;
            }
        }
        QVERIFY(compared > 30);
    }

    void orderOfAxesAndOfDevicesDoesNotMatter_data() { policies(); }
    void orderOfAxesAndOfDevicesDoesNotMatter() {
        QFETCH(QString, policy);
        for (unsigned seed = 1; seed <= kSeeds; ++seed) {
            const auto model = randomModel(seed, 30);
            PropagationCase c(model, "p=2,q=4,r=2");
            c.options.policy = *findPropagationPolicy(policy.toStdString());
            annotateAtRandom(c, seed, 6);
            // The same specs by name on a mesh in another order: devices are permuted.
            PropagationCase other(model, "r=2,p=2,q=4");
            other.options.policy = c.options.policy;
            AxisSpace space(c.configuration.mesh), otherSpace(other.configuration.mesh);
            for (const NodeId node : c.graph().main().nodes) {
                const auto& specs = c.annotations.nodes[node.index()];
                for (std::size_t i = 0; specs && i < specs->specs.size(); ++i) {
                    AxisSharding sharding = space.fromLayout(*specs->specs[i].layout);
                    for (DimAxes& dim : sharding.dims)
                        for (AxisPart& part : dim.parts)
                            for (AxisRef& axis : part.axes)
                                axis = *otherSpace.parse(space.text(axis));
                    other.put(node, specs->specs[i].tensor,
                              *otherSpace.toLayout(sharding, specs->specs[i].layout->shape()));
                }
            }
            QVERIFY(resultOf(c) == resultOf(other));
        }
    }

    void oneAxisAfterTheOtherIsBothAtOnce() {
        int compared = 0;
        for (unsigned seed = 1; seed <= 3 * kSeeds; ++seed) {
            PropagationCase c(randomModel(seed, 16), "p=2,q=2,r=2");
            putEverywhere(c, "x", seed % 2 == 0 ? "p, q, " : "p, q, r");
            c.options.direction = PropagationDirection::Forward;
            const Propagator atOnce = c.propagated();
            if (contradicts(c, atOnce))
                continue;
            const auto expected = resultOf(c);
            for (const std::vector<int>& order :
                 {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 0, 1}}) {
                c.options.axisPriorities = order;
                for (const auto& [name, axes] : resultOf(c))
                    QVERIFY2(axes == expected.at(name),
                             qPrintable(
                                 QString("seed %1, `%2`: %3, at once %4")
                                     .arg(seed)
                                     .arg(QString::fromStdString(name), axes, expected.at(name))));
                ++compared;
            }
        }
        QVERIFY2(compared > 60, qPrintable(QString::number(compared)));
    }

private:
    static void policies() {
        QTest::addColumn<QString>("policy");
        for (const PropagationPolicy& policy : propagationPolicies())
            QTest::newRow(policy.name.data()) << QString::fromUtf8(policy.name.data());
    }
};

QTEST_GUILESS_MAIN(TstPropagationLaws)
#include "tst_propagation_laws.moc"
