use futures_util::stream::{Stream, try_unfold};

use crate::Error;

/// Returns the answers of a list operation as a stream, page by page; a page may be empty although others follow.
///
/// `call` asks for one page by its token, none for the first; `next` is the token that follows a page:
///
/// ```ignore
/// let pages = waypost::pages(
///     async |page_token| {
///         let request = GetLogsRequest { page_token, ..window.clone() };
///         waypost::retry(3, async || logs.clone().get_logs(request.clone()).await).await
///     },
///     |page| page.next_page_token.clone(),
/// );
/// ```
pub fn pages<Page>(
    call: impl AsyncFn(Option<String>) -> Result<Page, Error>,
    next: impl Fn(&Page) -> Option<String>,
) -> impl Stream<Item = Result<Page, Error>> {
    // The outer Option ends the stream, the inner one is the first page's missing token.
    try_unfold((call, next, Some(None)), |(call, next, token)| async move {
        let Some(token) = token else { return Ok(None) };
        let page = call(token).await?;
        let following = next(&page).map(Some);
        Ok(Some((page, (call, next, following))))
    })
}
