// SPDX-License-Identifier: Apache-2.0
#include "check/codes.h"

#include <algorithm>
#include <cstring>

namespace shardwright {

namespace {

using enum Severity;

constexpr CodeInfo kCodes[] = {
    {"SW301", Error, "A cell has no device",
     "The factors of an operator, cut as its inputs are, span a grid of cells. A device can "
     "compute a cell when it holds "
     "what the cell needs of every input. Here no device does, so the result of that cell would be "
     "missing.",
     "MatMul of `a` split along its last axis and `w2` split along its columns, over the same two "
     "devices: device 0 has "
     "the first half of the rows of the product's sum and the first half of its columns, nobody "
     "has the first of the one and "
     "the second of the other.",
     "Give one of the inputs an explicit spec at this node, so that it is gathered first (the "
     "fixes say how many bytes "
     "that moves), or split the inputs along matching axes."},
    {"SW302", Error, "A dimension that must be whole is split",
     "The operator needs all of this dimension at once: a Softmax its axis, a LayerNormalization "
     "what it normalises over.",
     "Softmax over axis -1 of a tensor that is split along axis -1.",
     "Gather the input at this node, or split it along another dimension."},
    {"SW303", Error, "A dimension whose blocks need their neighbours is split",
     "Blocks of this dimension cannot be computed on their own, since the result needs elements of "
     "the next block.",
     "Slice with bounds that are not known before the run, along a split axis.",
     "Gather the input at this node, or split it along another dimension."},
    {"SW304", Error, "Shard edges do not fall on the edges of a view",
     "A Reshape takes a dimension apart, or joins several. A shard must begin and end where one of "
     "the new dimensions does; "
     "otherwise a shard is no rectangle in the new shape.",
     "Reshape of [64] split into 3 blocks of 22, 22 and 20 into [4, 16].",
     "Split one of the parts that the message names (`--shard T:1=4/tp*16`), or into a number of "
     "shards that divides the first of the new dimensions, or gather the input at this node."},
    {"SW305", Error, "A split input of an operator without a rule",
     "Shardwright does not know how this operator can be split, so that all of its inputs must be "
     "whole.",
     "A custom operator with an input split over tp.", "Gather the input at this node."},
    {"SW306", Warning, "Operator without a rule",
     "Shardwright does not know how this operator can be split. It runs whole on every device of "
     "the node. In profile "
     "strict this is unsupported.",
     "A custom operator, or a node whose shapes are not known.",
     "Nothing to do when running it whole is meant."},
    {"SW307", Unsupported, "Not covered by proposal 0007",
     "In profile strict only what the proposal describes may be split. Another backend may refuse "
     "this model.",
     "LayerNormalization of a tensor that is split along the batch.",
     "Use profile extended, or gather the input."},
    {"SW308", Info, "Needs profile extended",
     "The operator is split in a way that proposal 0007 does not describe. It works here; another "
     "backend may refuse it.",
     "Transpose of a split tensor.", "Nothing to do for Shardwright."},
    {"SW309", Error, "Differing specs on a common axis",
     "Profile strict wants the explicit specs of two inputs to be equal along axes that both have. "
     "Tensors that are whole "
     "on the devices are exempt.",
     "Add of A split in 2 and B split in 4 along axis 0.",
     "Make the specs equal, or use profile extended."},
    {"SW310", Error, "Cut too finely",
     "The cuts of a node's tensors make millions of cells, of pieces or of copies between devices. "
     "The file is kept as it is, "
     "but such a node is not worked with.",
     "MatMul of `x` whose rows are in 4096 shards and `w` whose columns are in 4096 shards.",
     "Use fewer shards, or a coarser cut."},
    {"SW311", Warning, "A spec inside of a body",
     "What If, Loop, Scan and functions run inside is split as the node that holds it is, by what "
     "follows from its inputs and outputs. Specs at the nodes of the bodies are kept, and change "
     "nothing.",
     "A spec for the weight of a Conv in the branch of an If.",
     "Split the inputs or outputs of the node in the main graph."},
    {"SW312", Warning, "Devices that compute nothing",
     "A block of the result is computed where the blocks of all inputs that it needs are. Inputs "
     "that "
     "are split over different axes of a mesh meet on some of their devices only; the others hold "
     "blocks that do not belong together, and wait from here on. So do devices that hold nothing "
     "of what a slice takes.",
     "MatMul under the mesh tp=2,dp=2 of `x`, whose columns are split over tp, and `w`, whose rows "
     "are split over dp: devices 0 and 3 compute.",
     "Take a fix that is offered, which gathers an input at the node; or split what has a "
     "dimension "
     "in common over the same axis, and what is sliced along another dimension."},
    {"SW412", Info, "Stage without devices",
     "A stage runs on the devices that the configuration binds it to (an axis named `pp`, or a "
     "list "
     "of devices), else on those that the specs of its nodes name. This stage has neither, so that "
     "its nodes run where their inputs are, as if they were in no stage.",
     "Nodes in stages 0 and 1 under the mesh tp=2.",
     "Give the stage devices: `annotate --stage-devices 0=0-1`, or the list of stages in the "
     "editor; or use a mesh with an axis `pp`."},
    {"SW410", Error, "A split input cannot be moved",
     "A tensor that comes from other devices keeps its sharding when it is moved, the k-th holder "
     "to the k-th device. With "
     "another number of devices there is no such mapping.",
     "An input split over devices 0 and 1, at a node of a stage on devices 2, 3 and 4.",
     "Give the input an explicit spec at this node."},
    {"SW411", Error, "An input outside the devices of the stage",
     "A spec of this node names devices that its stage is not bound to.",
     "Stage 1 on devices 2 and 3, a spec on device 0.",
     "Use devices of the stage, or bind the stage to them."},
    {"SW501", Communication, "Devices exchange elements here",
     "The layouts around this node make devices talk. The message says which collective, over "
     "which axes, how many bytes "
     "each group works on, and which layouts are the cause.",
     "MatMul whose inner dimension is split: an all-reduce of the product.",
     "Nothing is wrong. Matching layouts before and after the node avoid it."},
    {"SW610", Error, "A value is produced twice",
     "Two nodes have an output of one name. Readers differ in which one counts.",
     "Two nodes with output `y`.", "Rename one of them in the program that wrote the file."},
    {"SW611", Error, "An input that nothing produces",
     "A node reads a value that is no input, weight or output of the graph.",
     "MatMul with input `w`, and no `w`.", "Mend the file with the program that wrote it."},
    {"SW612", Warning, "Nodes out of order",
     "ONNX wants producers before consumers. The file's order is kept.",
     "An Add that stands before the MatMul whose output it reads.",
     "Sort the nodes with the program that wrote the file."},
    {"SW613", Error, "A cycle",
     "A node needs its own result, directly or through others. Such a graph cannot run.",
     "y = Add(y, x).", "Mend the file with the program that wrote it."},
    {"SW614", Info, "Two nodes with one name",
     "Nodes are told apart by graph and position, so that this is harmless here.",
     "Two nodes named `MatMul`.", "Nothing to do."},
    {"SW615", Info, "A node without a named output", "Nothing can read what it computes.",
     "A node with output ``.", "Nothing to do."},
    {"SW616", Warning, "Shape inference complains",
     "libonnx's shape inference found a contradiction. Shapes behind it may be unknown.",
     "A declared shape that the operator cannot give.",
     "Mend the shapes with the program that wrote the file."},
    {"SW617", Warning, "External data is not usable",
     "A tensor's data lies in a file that is missing, too short, or outside of the model's folder. "
     "Opening and editing the "
     "model does not need it; running does.",
     "location: ../weights.bin",
     "Put the file into the model's folder, under the name that the model gives."},
    {"SW619", Info, "More problems than are listed",
     "Many problems of one kind: the first hundred are listed.", "", "Mend the listed ones."},
};

}  // namespace

std::span<const CodeInfo> checkCodes() {
    return kCodes;
}

std::vector<CodeInfo> allCodes() {
    const auto sharding = shardingCodes();
    std::vector<CodeInfo> codes(sharding.begin(), sharding.end());
    codes.insert(codes.end(), std::begin(kCodes), std::end(kCodes));
    std::sort(codes.begin(), codes.end(),
              [](const CodeInfo& a, const CodeInfo& b) { return std::strcmp(a.code, b.code) < 0; });
    return codes;
}

std::string codePage(const CodeInfo& info) {
    std::string page = std::string("# ") + info.code + ": " + info.title +
                       "\n\nSeverity: " + severityName(info.severity) + "\n\n" + info.why + "\n";
    if (*info.example)
        page += std::string("\n## Example\n\n") + info.example + "\n";
    return page + "\n## Fix\n\n" + info.fix + "\n";
}

}  // namespace shardwright
