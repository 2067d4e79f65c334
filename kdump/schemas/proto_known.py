"""The types that every Protobuf compiler brings along, as far as values are made of them, and that of descriptors."""

from __future__ import annotations

from kdump.schemas import proto_text
from kdump.schemas.proto_types import Types

_KNOWN = """
syntax = "proto3";
package google.protobuf;
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message Empty {}
message Any { string type_url = 1; bytes value = 2; }
message FieldMask { repeated string paths = 1; }
message DoubleValue { double value = 1; }
message FloatValue { float value = 1; }
message Int64Value { int64 value = 1; }
message UInt64Value { uint64 value = 1; }
message Int32Value { int32 value = 1; }
message UInt32Value { uint32 value = 1; }
message BoolValue { bool value = 1; }
message StringValue { string value = 1; }
message BytesValue { bytes value = 1; }
enum NullValue { NULL_VALUE = 0; }
message Struct { map<string, Value> fields = 1; }
message ListValue { repeated Value values = 1; }
message Value {
  oneof kind {
    NullValue null_value = 1;
    double number_value = 2;
    string string_value = 3;
    bool bool_value = 4;
    Struct struct_value = 5;
    ListValue list_value = 6;
  }
}
"""

_GOOGLE = """
syntax = "proto3";
package google.type;
message Date { int32 year = 1; int32 month = 2; int32 day = 3; }
message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }
message LatLng { double latitude = 1; double longitude = 2; }
message Decimal { string value = 1; }
message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }
"""

_CONFLUENT = """
syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
"""

_DESCRIPTORS = """
syntax = "proto2";
package descriptors;
message FileSet { repeated File file = 1; }
message File {
  optional string name = 1; optional string package = 2; repeated Message message_type = 4; repeated Enum enum_type = 5;
  repeated Field extension = 7; optional FileOptions options = 8; optional string syntax = 12;
}
message FileOptions { optional Features features = 50; }
message Features { optional int32 field_presence = 1; optional int32 enum_type = 2; }
message Message {
  optional string name = 1; repeated Field field = 2; repeated Message nested_type = 3; repeated Enum enum_type = 4;
  repeated Field extension = 6; optional Options options = 7;
}
message Options { optional bool map_entry = 7; }
message Field {
  optional string name = 1; optional string extendee = 2; optional int32 number = 3; optional int32 label = 4;
  optional int32 type = 5; optional string type_name = 6; optional FieldOptions options = 8; optional int32 oneof_index = 9;
  optional bool proto3_optional = 17;
}
message FieldOptions { optional Features features = 21; }
message Enum { optional string name = 1; repeated Value value = 2; optional EnumOptions options = 3; }
message EnumOptions { optional Features features = 7; }
message Value { optional string name = 1; optional int32 number = 2; }
"""


def known_types() -> Types:
    """The types that schemas use without declaring them."""
    types = Types()
    for text in (_KNOWN, _GOOGLE, _CONFLUENT):
        proto_text.parse(text, types)
    types.link()
    return types


def descriptor_types() -> Types:
    """The types of compiled descriptors, with the fields that matter here."""
    types = Types()
    proto_text.parse(_DESCRIPTORS, types)
    types.link()
    return types
