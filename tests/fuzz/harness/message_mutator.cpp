// SPDX-License-Identifier: Apache-2.0
#include "harness/message_mutator.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <limits>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

namespace shardwright::fuzz {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// The message and all in it, outermost first.
std::vector<Message*> partsOf(Message& root) {
    std::vector<Message*> parts{&root};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Message* message = parts[i];
        const Reflection* reflection = message->GetReflection();
        std::vector<const FieldDescriptor*> fields;
        reflection->ListFields(*message, &fields);
        for (const FieldDescriptor* field : fields) {
            if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
                continue;
            if (!field->is_repeated()) {
                parts.push_back(reflection->MutableMessage(message, field));
                continue;
            }
            for (int k = 0; k < reflection->FieldSize(*message, field); ++k)
                parts.push_back(reflection->MutableRepeatedMessage(message, field, k));
        }
    }
    return parts;
}

void collectTexts(const Message& message, std::vector<std::string>& texts) {
    constexpr std::size_t kLongest = 64;
    const Reflection* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
        if (field->type() != FieldDescriptor::TYPE_STRING)
            continue;
        const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
        for (int k = 0; k < count; ++k) {
            std::string text = field->is_repeated()
                                   ? reflection->GetRepeatedString(message, field, k)
                                   : reflection->GetString(message, field);
            if (text.size() <= kLongest)
                texts.push_back(std::move(text));
        }
    }
}

}  // namespace

void MessageMutator::mutate(Message& message, const Message* other) {
    std::unique_ptr<Message> donor;
    if (other != nullptr) {
        donor.reset(other->New());
        donor->CopyFrom(*other);
        for (const Message* part : partsOf(*donor)) {
            m_donors.push_back(part);
            collectTexts(*part, m_texts);
        }
    }
    for (const Message* part : partsOf(message))
        collectTexts(*part, m_texts);
    for (std::size_t left = 1 + below(4); left > 0; --left)
        changeOnce(message);
    m_donors.clear();
}

void MessageMutator::changeOnce(Message& root) {
    const std::vector<Message*> parts = partsOf(root);
    Message& message = *parts[below(parts.size())];
    const Reflection* reflection = message.GetReflection();
    const auto* descriptor = message.GetDescriptor();
    if (descriptor->field_count() == 0)
        return;
    // Mostly what is there, sometimes what is not.
    std::vector<const FieldDescriptor*> present;
    reflection->ListFields(message, &present);
    const FieldDescriptor* field =
        !present.empty() && below(4) != 0
            ? present[below(present.size())]
            : descriptor->field(static_cast<int>(below(std::size_t(descriptor->field_count()))));
    if (field->is_repeated()) {
        changeRepeated(message, *field);
    } else if (reflection->HasField(message, field) && below(6) == 0) {
        reflection->ClearField(&message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Message* part = reflection->MutableMessage(&message, field);
        for (const Message* donor : m_donors)
            if (donor->GetDescriptor() == part->GetDescriptor() && below(4) == 0)
                return part->CopyFrom(*donor);
    } else {
        changeScalar(message, *field, -1);
    }
}

void MessageMutator::changeRepeated(Message& message, const Field& field) {
    const Reflection* reflection = message.GetReflection();
    const int count = reflection->FieldSize(message, &field);
    const auto any = [&] { return static_cast<int>(below(static_cast<std::size_t>(count))); };
    const std::size_t choice = count == 0 ? 0 : below(6);
    if (choice == 0) {
        addTo(message, field);
    } else if (choice == 1) {
        reflection->SwapElements(&message, &field, any(), count - 1);
        reflection->RemoveLast(&message, &field);
    } else if (choice == 2) {
        reflection->SwapElements(&message, &field, any(), any());
    } else if (field.cpp_type() != Field::CPPTYPE_MESSAGE) {
        changeScalar(message, field, any());
    } else if (choice == 3) {  // One that is there once more.
        const int source = any();
        Message* added = reflection->AddMessage(&message, &field);
        added->CopyFrom(reflection->GetRepeatedMessage(message, &field, source));
    }
}

void MessageMutator::addTo(Message& message, const Field& field) {
    const Reflection* reflection = message.GetReflection();
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
        Message* added = reflection->AddMessage(&message, &field);
        for (const Message* donor : m_donors)
            if (donor->GetDescriptor() == added->GetDescriptor() && below(4) == 0)
                return added->CopyFrom(*donor);
        return;
    }
    switch (field.cpp_type()) {
        case Field::CPPTYPE_INT32: reflection->AddInt32(&message, &field, 0); break;
        case Field::CPPTYPE_INT64: reflection->AddInt64(&message, &field, 0); break;
        case Field::CPPTYPE_UINT32: reflection->AddUInt32(&message, &field, 0); break;
        case Field::CPPTYPE_UINT64: reflection->AddUInt64(&message, &field, 0); break;
        case Field::CPPTYPE_FLOAT: reflection->AddFloat(&message, &field, 0); break;
        case Field::CPPTYPE_DOUBLE: reflection->AddDouble(&message, &field, 0); break;
        case Field::CPPTYPE_STRING: reflection->AddString(&message, &field, {}); break;
        default: return;
    }
    changeScalar(message, field, reflection->FieldSize(message, &field) - 1);
}

std::int64_t MessageMutator::number(std::int64_t present) {
    static constexpr std::array<std::int64_t, 12> kEdges{-1,
                                                         0,
                                                         1,
                                                         -2147483648LL,
                                                         2147483647LL,
                                                         4294967296LL,
                                                         1048576,
                                                         1048577,
                                                         1LL << 62,
                                                         1LL << 40,
                                                         std::numeric_limits<std::int64_t>::min(),
                                                         std::numeric_limits<std::int64_t>::max()};
    switch (below(5)) {
        case 0: return kEdges[below(kEdges.size())];
        case 1: return static_cast<std::int64_t>(static_cast<std::uint64_t>(present) + 1);
        case 2: return static_cast<std::int64_t>(static_cast<std::uint64_t>(present) - 1);
        case 3: return static_cast<std::int64_t>(static_cast<std::uint64_t>(present) * 2);
        default: return static_cast<std::int64_t>(below(17));
    }
}

std::string MessageMutator::text(const std::string& present) {
    if (!m_texts.empty() && below(4) != 0)
        return m_texts[below(m_texts.size())];
    std::string changed = present;
    changed.resize(present.size() + 16);
    changed.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(changed.data()), present.size(),
                                    changed.size()));
    return changed;
}

/// `index` is -1 for a field that is not repeated.
void MessageMutator::changeScalar(Message& message, const Field& field, int index) {
    const Reflection* r = message.GetReflection();
    const auto change = [&](auto get, auto getRepeated, auto set, auto setRepeated, auto make) {
        if (index < 0)
            (r->*set)(&message, &field, make((r->*get)(message, &field)));
        else
            (r->*setRepeated)(&message, &field, index,
                              make((r->*getRepeated)(message, &field, index)));
    };
    const auto integer = [&](auto value) {
        return static_cast<decltype(value)>(number(static_cast<std::int64_t>(value)));
    };
    const auto real = [&](auto value) {
        static constexpr std::array<double, 6> kEdges{0, 1, -1, 1e38, 0.5, 1e-40};
        if (below(4) == 0)
            return std::numeric_limits<decltype(value)>::quiet_NaN();
        return static_cast<decltype(value)>(kEdges[below(kEdges.size())]);
    };
    switch (field.cpp_type()) {
        case Field::CPPTYPE_INT32:
            return change(&Reflection::GetInt32, &Reflection::GetRepeatedInt32,
                          &Reflection::SetInt32, &Reflection::SetRepeatedInt32, integer);
        case Field::CPPTYPE_INT64:
            return change(&Reflection::GetInt64, &Reflection::GetRepeatedInt64,
                          &Reflection::SetInt64, &Reflection::SetRepeatedInt64, integer);
        case Field::CPPTYPE_UINT32:
            return change(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32,
                          &Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, integer);
        case Field::CPPTYPE_UINT64:
            return change(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64,
                          &Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, integer);
        case Field::CPPTYPE_FLOAT:
            return change(&Reflection::GetFloat, &Reflection::GetRepeatedFloat,
                          &Reflection::SetFloat, &Reflection::SetRepeatedFloat, real);
        case Field::CPPTYPE_DOUBLE:
            return change(&Reflection::GetDouble, &Reflection::GetRepeatedDouble,
                          &Reflection::SetDouble, &Reflection::SetRepeatedDouble, real);
        case Field::CPPTYPE_ENUM:
            return change(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue,
                          &Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue,
                          [&](int) { return static_cast<int>(below(24)); });
        case Field::CPPTYPE_STRING:
            if (index < 0)
                r->SetString(&message, &field, text(r->GetString(message, &field)));
            else
                r->SetRepeatedString(&message, &field, index,
                                     text(r->GetRepeatedString(message, &field, index)));
            return;
        default: return;
    }
}

}  // namespace shardwright::fuzz
