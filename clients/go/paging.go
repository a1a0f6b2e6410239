package waypost

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Pages yields the answers of a list operation, page by page, until the last or an error:
//
//	for page, err := range waypost.Pages(ctx, logs.GetLogs, &waypostv1.GetLogsRequest{...}) { ... }
//
// The request is not changed. A page may be empty although others follow.
func Pages[Request, Response proto.Message](
	ctx context.Context,
	call func(context.Context, Request, ...grpc.CallOption) (Response, error),
	request Request,
	options ...grpc.CallOption,
) iter.Seq2[Response, error] {
	return func(yield func(Response, error) bool) {
		next := proto.CloneOf(request)
		for {
			page, err := call(ctx, next, options...)
			if err != nil {
				yield(page, err)
				return
			}
			token, err := text(page, "next_page_token")
			if err != nil {
				yield(page, err)
				return
			}
			if !yield(page, nil) || token == "" {
				return
			}
			if err := setText(next, "page_token", token); err != nil {
				yield(page, err)
				return
			}
		}
	}
}

func text(message proto.Message, name protoreflect.Name) (string, error) {
	field := message.ProtoReflect().Descriptor().Fields().ByName(name)
	if field == nil || field.Kind() != protoreflect.StringKind {
		return "", fmt.Errorf("waypost: %s has no pages", message.ProtoReflect().Descriptor().Name())
	}
	return message.ProtoReflect().Get(field).String(), nil
}

func setText(message proto.Message, name protoreflect.Name, value string) error {
	if _, err := text(message, name); err != nil {
		return err
	}
	reflected := message.ProtoReflect()
	reflected.Set(reflected.Descriptor().Fields().ByName(name), protoreflect.ValueOfString(value))
	return nil
}
