// SPDX-License-Identifier: Apache-2.0
#include "ui/panels/run_rows.h"

#include "ui/window/text.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <set>

namespace shardwright {
namespace {

QString tr(const char* text, int n = -1) {
    return QCoreApplication::translate("shardwright::RunPanel", text, nullptr, n);
}

QString none() {
    return QStringLiteral("–");
}

RowCell number(double value, const QString& text, const QString& toolTip = {}) {
    return {text, value, toolTip};
}

RowCell count(int value) {
    return number(value, QLocale().toString(value));
}

RowCell ms(double value) {
    return number(value, milliseconds(value));
}

RowCell us(double value) {
    return number(value, milliseconds(value / 1000));
}

RowCell bytes(std::int64_t value) {
    return value > 0 ? number(static_cast<double>(value), byteText(value), exactByteText(value))
                     : number(-1, none());
}

QString fullName(const RunPlace& place) {
    return toQt(place.scope.empty() ? place.name : place.scope + "/" + place.name).left(1000);
}

/// In the units of links: powers of ten.
QString rateText(double bytesPerSecond) {
    if (bytesPerSecond <= 0)
        return none();
    const bool giga = bytesPerSecond >= 1e9;
    const double value = bytesPerSecond / (giga ? 1e9 : 1e6);
    const int digits = value < 10 ? (giga ? 2 : 1) : giga && value < 100 ? 1 : 0;
    const QString text = QLocale().toString(value, 'f', digits);
    return giga ? tr("%1 GB/s").arg(text) : tr("%1 MB/s").arg(text);
}

QString difference(double value) {
    return QLocale().toString(value, 'g', 3);
}

}  // namespace

NodesByPlace::NodesByPlace(const Analysis* analysis) : m_analysis(analysis) {
    if (analysis)
        for (const NodeInfo& node : analysis->graph().nodes)
            m_nodes.emplace(node.index, node.id);
}

NodeId NodesByPlace::find(const RunPlace& place) const {
    const NodePlace wanted{place.name, place.index, place.scope};
    const auto [begin, end] = m_nodes.equal_range(place.index);
    for (auto it = begin; it != end; ++it)
        if (m_analysis->graph().place(it->second) == wanted)
            return it->second;
    return {};
}

QString NodesByPlace::label(const RunPlace& place) const {
    return place.name.empty() ? tr("node %1").arg(place.index) : oneLine(place.name);
}

NodeId NodesByPlace::producer(const std::string& tensor) const {
    if (!m_analysis)
        return {};
    const ValueId value = m_analysis->graph().findValue(GraphId(0), tensor);
    return value ? m_analysis->graph().value(value).producer : NodeId();
}

std::vector<RowColumn> deviceColumns() {
    using enum RowColumn::Kind;
    return {{tr("Device")},
            {tr("Time")},
            {tr("In segments"), tr("Kernels and local copies, of one pass"), Number},
            {tr("Communicating"), tr("Packing, moving and joining"), Number},
            {tr("Waiting"), tr("For other devices, inside of a collective"), Number},
            {tr("Memory now"), tr("Weights and tensors that it holds at this moment"), Number},
            {tr("Peak memory"),
             tr("Weights, and the tensors between segments, that it held at most"), Number},
            {tr("Predicted"), tr("What it was to hold at most, worked out before the run"), Number},
            {tr("Segments"), tr("Parts of the model between collectives"), Number},
            {tr("Preparing"), tr("Loading weights and making sessions, before the first pass"),
             Number}};
}

std::vector<Row> deviceRows(const std::map<int, DeviceFacts>& devices) {
    double longest = 0;
    for (const auto& [device, facts] : devices)
        longest = std::max(longest, facts.timing.computeMs + facts.timing.communicationMs +
                                        facts.timing.waitingMs);
    std::vector<Row> rows;
    for (const auto& [device, facts] : devices) {
        const RunDeviceTiming& t = facts.timing;
        const double total = t.computeMs + t.communicationMs + t.waitingMs;
        const auto time = [&](double value) {
            return facts.timed ? ms(value) : number(-1, none());
        };
        RowCell bar{facts.timed ? milliseconds(total) : QString(), total};
        if (facts.timed)
            bar.toolTip = tr("Computing %1, communicating %2, waiting %3")
                              .arg(milliseconds(t.computeMs), milliseconds(t.communicationMs),
                                   milliseconds(t.waitingMs));
        rows.push_back({{{QString::number(device), device},
                         bar,
                         time(t.computeMs),
                         time(t.communicationMs),
                         time(t.waitingMs),
                         bytes(facts.memory.bytes),
                         bytes(std::max(t.peakBytes, facts.memory.peakBytes)),
                         bytes(std::max(t.predictedBytes, facts.memory.predictedBytes)),
                         facts.segments > 0 ? count(facts.segments) : number(-1, none()),
                         time(t.prepareMs)},
                        {},
                        QVariantList{t.computeMs, t.communicationMs, t.waitingMs, longest}});
    }
    return rows;
}

std::vector<RowColumn> operatorColumns() {
    using enum RowColumn::Kind;
    return {{tr("Operator"), tr("Several nodes may have been fused into one kernel")},
            {tr("Node"), {}, Name},
            {tr("Device"), {}, Number},
            {tr("Calls"), tr("Without those of warm-up passes"), Number},
            {tr("Median"), tr("Of a call"), Number},
            {tr("Total"), tr("Of all these calls"), Number},
            {tr("Share"), tr("Of all operators of the device"), Number}};
}

std::vector<Row> operatorRows(const std::vector<RunOperator>& operators, const NodesByPlace& nodes,
                              bool summed) {
    struct Sum {
        double us = 0;
        int calls = 0, kernels = 0;
    };
    std::map<int, double> ofDevice;
    std::map<std::pair<std::string, int>, Sum> sums;
    for (const RunOperator& one : operators) {
        ofDevice[one.device] += one.totalUs;
        Sum& sum = sums[{one.op, one.device}];
        sum.us += one.totalUs;
        sum.calls += one.calls;
        ++sum.kernels;
    }
    const auto share = [&](double total, int device) {
        const double all = ofDevice[device];
        const double part = all > 0 ? total / all : 0;
        return number(part, percentText(part));
    };
    std::vector<Row> rows;
    if (summed) {
        for (const auto& [key, sum] : sums) {
            const auto& [op, device] = key;
            const QString kernels =
                sum.kernels == 1 ? tr("1 kernel") : tr("%1 kernels").arg(sum.kernels);
            rows.push_back({{{oneLine(op)},
                             {kernels, sum.kernels},
                             count(device),
                             count(sum.calls),
                             number(-1, none()),
                             us(sum.us),
                             share(sum.us, device)}});
        }
        return rows;
    }
    for (const RunOperator& one : operators) {
        const bool placed = one.node.index >= 0;
        const QString name = placed ? nodes.label(one.node) : oneLine(one.kernel);
        const QString tip = placed ? tr("%1\nkernel %2").arg(fullName(one.node), toQt(one.kernel))
                                   : tr("Put in by ONNX Runtime: %1").arg(toQt(one.kernel));
        rows.push_back({{{oneLine(one.op)},
                         {name, {}, tip.left(2000)},
                         count(one.device),
                         count(one.calls),
                         us(one.medianUs),
                         us(one.totalUs),
                         share(one.totalUs, one.device)},
                        nodes.find(one.node)});
    }
    return rows;
}

std::vector<RowColumn> collectiveColumns() {
    using enum RowColumn::Kind;
    return {
        {tr("Kind")},
        {tr("Node"), {}, Name},
        {tr("Tensor"), {}, Name},
        {tr("Devices")},
        {tr("Bytes"), tr("Of the tensor that the group works on"), Number},
        {tr("Predicted"), tr("By the hardware profile; the formula is in the tool tip"), Number},
        {tr("Measured"), tr("From when the last device came until the last one was done"), Number},
        {tr("Waiting"), tr("Of the device that waited longest for the others"), Number},
        {tr("Bandwidth"),
         tr("What one device sends by the ring formula, by the measured time: comparable with "
            "a link's"),
         Number}};
}

std::vector<Row> collectiveRows(const std::vector<RunCollective>& collectives,
                                const NodesByPlace& nodes) {
    std::vector<Row> rows;
    for (const RunCollective& one : collectives) {
        RowCell predicted = number(-1, none());
        if (one.predictedUs >= 0)
            predicted = {milliseconds(one.predictedUs / 1000), one.predictedUs,
                         toQt(one.cost).left(2000)};
        rows.push_back({{{toQt(one.kind)},
                         {nodes.label(one.node), {}, fullName(one.node)},
                         {oneLine(one.tensor), {}, toQt(one.tensor).left(1000)},
                         {deviceList(one.devices)},
                         bytes(one.bytes),
                         predicted,
                         us(one.measuredUs),
                         us(one.waitingUs),
                         number(one.bytesPerSecond, rateText(one.bytesPerSecond))},
                        nodes.find(one.node)});
    }
    return rows;
}

QString collectivesSummary(const RunReport& report) {
    std::set<std::string> kinds;
    for (const auto* totals : {&report.predicted, &report.executed})
        for (const auto& [kind, total] : *totals)
            kinds.insert(kind);
    if (kinds.empty())
        return {};
    const auto of = [](const auto& totals, const std::string& kind) {
        const auto found = totals.find(kind);
        return found == totals.end() ? RunKindTotal{} : found->second;
    };
    QStringList parts;
    for (const std::string& kind : kinds) {
        const RunKindTotal predicted = of(report.predicted, kind),
                           executed = of(report.executed, kind);
        parts << (predicted == executed ? tr("%1 × %2, %3")
                                              .arg(executed.count)
                                              .arg(toQt(kind), byteText(executed.bytes))
                                        : tr("%1: %2 predicted (%3), %4 executed (%5)")
                                              .arg(toQt(kind))
                                              .arg(predicted.count)
                                              .arg(exactByteText(predicted.bytes))
                                              .arg(executed.count)
                                              .arg(exactByteText(executed.bytes)));
    }
    QString text = (report.predicted == report.executed ? tr("✓ As predicted: %1")
                                                        : tr("✗ Differs from the prediction: %1"))
                       .arg(parts.join(QStringLiteral(" · ")));
    if (!report.hardware.empty()) {
        const CollectiveTotals totals = collectiveTotals(report);
        text += tr(" · one after the other: predicted %1 (%2), measured %3")
                    .arg(milliseconds(totals.predictedUs / 1000), oneLine(report.hardware, 60),
                         milliseconds(totals.measuredUs / 1000));
    }
    return text;
}

std::vector<RowColumn> checkColumns() {
    using enum RowColumn::Kind;
    return {
        {tr("Tensor"), {}, Name},
        {tr("Largest difference"), {}, Number},
        {tr("Relative"), tr("To the largest absolute value of the tensor on one device"), Number},
        {tr("Allowed"), tr("Relative difference that its type and its sums allow"), Number},
        {tr("Result")}};
}

std::vector<Row> checkRows(const RunReport& report, const NodesByPlace& nodes) {
    std::vector<Row> rows;
    for (const auto* checks : {&report.outputs, &report.tensors})
        for (const RunTensorCheck& check : *checks) {
            const QString note = check.note.empty() ? QString() : u' ' + oneLine(check.note);
            RowCell result{(check.agrees ? tr("✓ agrees") : tr("✗ differs")) + note,
                           check.agrees ? 1 : 0};
            result.bad = !check.agrees;
            rows.push_back({{{oneLine(check.name), {}, toQt(check.name).left(1000)},
                             number(check.maxAbs, difference(check.maxAbs)),
                             number(check.maxRel, difference(check.maxRel)),
                             number(check.tolerance, difference(check.tolerance)),
                             result},
                            nodes.producer(check.name)});
        }
    return rows;
}

}  // namespace shardwright
