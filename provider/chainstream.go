package provider

import (
	"context"
	"iter"
)

// Stream asks the clients in turn until one shows a token; from then on its stream is the answer, and its error the end.
func (c *Chain) Stream(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		p, err := c.plan(ctx, req)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		for p.more() {
			tokens, over, err := p.relay(ctx, req, yield)
			if over {
				return
			}
			if !p.failed(ctx, err, tokens) {
				break
			}
		}
		spent := p.spent()
		yield(Chunk{Done: &spent}, p.err())
	}
}

// relay passes one client's stream on. over: the answer is complete, or nobody listens any more. Otherwise err is why the stream
// failed, and tokens whether it had shown a token. Chunks before the first token are not passed on: they may belong to a stream
// that fails.
func (p *pass) relay(ctx context.Context, req Request, yield func(Chunk, error) bool) (tokens, over bool, err error) {
	for chunk, err := range p.client().Stream(p.context(ctx), req) {
		if chunk.Done != nil {
			p.paid(*chunk.Done)
		}
		if err != nil {
			return tokens, false, err
		}
		if chunk.Done != nil {
			done := p.answer(*chunk.Done)
			chunk.Done = &done
			yield(chunk, nil)
			return tokens, true, nil
		}
		if tokens = tokens || chunk.IsToken(); tokens && !yield(chunk, nil) {
			return tokens, true, nil
		}
	}
	return tokens, false, Judge(Signal{Provider: p.client().Name(), Seen: SeenCut, AfterFirstToken: tokens})
}
