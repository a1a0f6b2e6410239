use futures_util::stream::{Stream, try_unfold};

use crate::Error;

/// Returns the answers of a list operation as a stream, page by page; a page may be empty although others follow.
///
/// `call` asks for one page by its token, empty for the first; `next` is the token that follows a page:
///
/// ```ignore
/// let pages = waypost::pages(
///     async |page_token| {
///         let request = GetLogsRequest { page_token, ..window.clone() };
///         waypost::retry(3, async || logs.clone().get_logs(request.clone()).await).await
///     },
///     |page| &page.next_page_token,
/// );
/// ```
pub fn pages<Page>(
    call: impl AsyncFn(String) -> Result<Page, Error>,
    next: impl Fn(&Page) -> &str,
) -> impl Stream<Item = Result<Page, Error>> {
    try_unfold((call, next, Some(String::new())), |(call, next, token)| async move {
        let Some(token) = token else { return Ok(None) };
        let page = call(token).await?;
        let following = Some(next(&page).to_owned()).filter(|token| !token.is_empty());
        Ok(Some((page, (call, next, following))))
    })
}
