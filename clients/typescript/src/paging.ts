interface Page {
  nextPageToken?: string;
}

/**
 * Yields the answers of a list operation, page by page: `for await (const page of pages(logs.getLogs, {...}))`.
 * A page may be empty although others follow.
 */
export async function* pages<Request extends object, Response extends Page>(
  call: (request: Request & { pageToken?: string }) => Promise<Response>,
  request: Request,
): AsyncGenerator<Response> {
  for (let next: Request & { pageToken?: string } = request; ; ) {
    const page = await call(next);
    yield page;
    if (!page.nextPageToken) return;
    next = { ...next, pageToken: page.nextPageToken };
  }
}
