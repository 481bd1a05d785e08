// Package pb holds the messages of the ONNX standard as Go types, made from
// sgs/onnx.proto. They are registered under a proto package and a file path of
// our own, so that a program may link another ONNX library beside this one.
//
// To make onnx.pb.go again, protoc and the protoc-gen-go of go.mod's version of
// google.golang.org/protobuf must be on the path.
package pb

//go:generate protoc --go_out=. --go_opt=module=github.com/starlarkgs/starlarkgs/onnx/internal/pb sgs/onnx.proto
