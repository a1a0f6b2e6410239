interface Page {
  nextPageToken?: string | undefined;
}

/**
 * Yields the answers of a list operation, page by page: `for await (const page of pages(logs.getLogs, {...}))`.
 * A page may be empty although others follow.
 */
export async function* pages<Call extends (request: any) => Promise<Page>>(
  call: Call,
  request: Parameters<Call>[0],
): AsyncGenerator<Awaited<ReturnType<Call>>> {
  for (let next = request; ; ) {
    const page = (await call(next)) as Awaited<ReturnType<Call>>;
    yield page;
    if (!page.nextPageToken) return;
    next = { ...next, pageToken: page.nextPageToken };
  }
}
