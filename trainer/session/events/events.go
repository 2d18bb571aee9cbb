// Package events writes the files that TensorBoard reads.
//
//	b := events.AppendVersion(nil, now)          // once, at the start of a file
//	b = events.AppendScalars(b, now, 1, []events.Scalar{{Tag: "train/loss", Value: 9.2}})
//
// # Format
//
// A file is a TFRecord file (package tfrecord) of tensorflow.Event messages in
// Protocol Buffers' wire form, as tensorflow/core/util/event.proto and
// tensorflow/core/framework/summary.proto define them:
//
//	Event    1: wall_time, double, seconds since 1970   2: step, int64
//	         3: file_version, string   5: summary   7: session_log
//	Summary  1: value, repeated
//	Value    1: tag, string   2: simple_value, float
//
// TensorBoard reads the files of a folder whose names contain "tfevents", in the
// order of their names. All functions are pure.
package events

import (
	"encoding/binary"
	"math"

	"pretext/records/tfrecord"
)

// A Scalar is one value of a curve. TensorBoard shows the curve under the name Tag.
type Scalar struct {
	Tag   string
	Value float32
}

// Keys of the fields: number<<3 | wire type.
const (
	keyWallTime    = 1<<3 | 1
	keyStep        = 2 << 3
	keyFileVersion = 3<<3 | 2
	keySummary     = 5<<3 | 2
	keySessionLog  = 7<<3 | 2

	keyValue       = 1<<3 | 2
	keyTag         = 1<<3 | 2
	keySimpleValue = 2<<3 | 5
	keyStatus      = 1 << 3
)

// version is the first record of every file.
const version = "brain.Event:2"

// sessionStart is SessionLog.START.
const sessionStart = 1

// AppendVersion appends the record that begins a file.
func AppendVersion(dst []byte, wallTime float64) []byte {
	return tfrecord.AppendFrame(dst, appendBytes(event(wallTime, 0), keyFileVersion, version))
}

// AppendRestart appends a restart record. For it, TensorBoard drops the points of
// earlier files from this step on.
func AppendRestart(dst []byte, wallTime float64, step int64) []byte {
	return tfrecord.AppendFrame(dst, appendBytes(event(wallTime, step), keySessionLog, []byte{keyStatus, sessionStart}))
}

// AppendScalars appends the numbers of a step as one record.
func AppendScalars(dst []byte, wallTime float64, step int64, scalars []Scalar) []byte {
	var summary, value []byte
	for _, s := range scalars {
		value = appendBytes(value[:0], keyTag, s.Tag)
		value = binary.LittleEndian.AppendUint32(append(value, keySimpleValue), math.Float32bits(s.Value))
		summary = appendBytes(summary, keyValue, value)
	}
	return tfrecord.AppendFrame(dst, appendBytes(event(wallTime, step), keySummary, summary))
}

// event returns the beginning of an Event: wall time and step. As usual in Protocol
// Buffers, step 0 is the default and is not written.
func event(wallTime float64, step int64) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{keyWallTime}, math.Float64bits(wallTime))
	if step != 0 {
		b = binary.AppendUvarint(append(b, keyStep), uint64(step))
	}
	return b
}

func appendBytes[T string | []byte](dst []byte, key byte, value T) []byte {
	dst = binary.AppendUvarint(append(dst, key), uint64(len(value)))
	return append(dst, value...)
}
